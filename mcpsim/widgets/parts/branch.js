// Branch from here: after any step one thing is done differently, the story is played again, and both runs are shown
// side by side. The kernel plays; so this is offered only where there is one.

class Branch {
  static KEYS = [["b", "branch from here: play again with one change (in a notebook)"]];

  constructor(view) {
    this.view = view;
    this.state = "closed";
    this.chosen = "";
    // What is to be answered: after which step, and with which change, or none.
    this.wish = null;
    this.pairs = new Pairs((row) => this.along(row));
    view.listen(view.model, "change:branch_shown", () => this.answered());
    view.listen(view.model, "change:no_branch", () => view.build());
  }

  get refused() {
    return this.view.model.get("no_branch");
  }

  get offered() {
    return Boolean(this.view.model.get("kernel")) && this.refused === "";
  }

  remove() {
    this.pairs.remove();
  }

  tools() {
    this.button = null;
    if (!this.offered) return [];
    this.button = html("button", { type: "button", title: "Branch from here (b)", "aria-expanded": String(this.state !== "closed") }, "Branch");
    this.button.addEventListener("click", () => this.toggle());
    return [this.button];
  }

  menu() {
    if (!this.view.model.get("kernel") || !this.refused) return [];
    return [["Branch from here", () => this.view.say(this.unoffered)]];
  }

  get unoffered() {
    if (!this.view.model.get("kernel")) return "A branch plays the story again, and Python does that: in a notebook.";
    return `This cannot be played again with a change. ${this.refused}`;
  }

  // The first run is behind the branch: what acts on it would act on what nobody sees.
  hold() {
    this.view.behind = this.state === "shown" ? "This is about the first run, which is behind the branch: go back to it first (Esc)." : "";
    for (const button of this.view.root.querySelectorAll(":scope > .mcpsim-header button")) {
      if (button === this.button || button === this.view.helpButton || button.closest(".mcpsim-menu-box")) continue;
      if (this.view.behind) {
        button.dataset.title ??= button.title;
        button.title = this.view.behind;
        button.setAttribute("aria-disabled", "true");
      } else if (button.dataset.title !== undefined) {
        button.title = button.dataset.title;
        delete button.dataset.title;
        button.removeAttribute("aria-disabled");
      }
    }
  }

  bar() {
    // Other data, such as that of a bench whose knob was turned: what is shown is about a run that is gone.
    if (this.about !== this.view.data) {
      this.state = "closed";
      this.wish = null;
    }
    this.about = this.view.data;
    this.box = html("div", { class: "mcpsim-branch", role: "group", "aria-label": "Branch from here" });
    return this.box;
  }

  built() {
    this.show();
  }

  piecesCame() {
    if (this.state === "shown") this.pairs.stepsCame();
  }

  onKey(event) {
    if (this.state === "shown" && this.pairs.onKey(event)) return true;
    if (event.key !== "b") return false;
    if (this.offered) this.toggle();
    else this.view.say(this.unoffered);
    return true;
  }

  onEscape() {
    if (this.state === "closed") return false;
    this.close();
    return true;
  }

  moved(step, cursor) {
    // While a change is played, its answer is what is waited for.
    if (this.state !== "form" || this.playing) return;
    if ((this.wish || this.form)?.step !== cursor) this.ask(cursor);
  }

  toggle() {
    if (this.state !== "closed") return this.close();
    this.state = "form";
    this.form = null;
    this.error = "";
    this.ask(this.view.cursor);
    this.show();
    this.box.querySelector("button, input")?.focus({ preventScroll: true });
  }

  close() {
    this.state = "closed";
    this.wish = null;
    this.show();
    (this.button || this.view.root).focus({ preventScroll: true });
  }

  get playing() {
    return Boolean(this.wish && this.wish.change);
  }

  // The last wish of this view is the one that counts.
  ask(step, change = null) {
    this.wish = { step, change };
    if (this.view.model.get("playing")) this.view.model.set("playing", false);
    this.send();
  }

  get count() {
    return Number((this.view.model.get("branch_asked") || {}).n) || 0;
  }

  get told() {
    return this.view.model.get("branch_shown") || {};
  }

  send() {
    const { step, change } = this.wish;
    this.asked = Math.max(this.count, this.told.n || 0) + 1;
    this.view.model.set("branch_asked", { n: this.asked, step, ...(change ? { change } : {}) });
    this.view.model.save_changes();
    this.view.kernel.expect(true);
    this.showBusy();
  }

  // A story takes a moment. Where it takes longer, the style says so.
  showBusy() {
    this.box.setAttribute("aria-busy", String(Boolean(this.wish) && !this.view.kernel.gone));
  }

  kernelTold() {
    // Nothing is being looked for any more.
    this.box.querySelector(".mcpsim-branch-looking")?.toggleAttribute("hidden", this.view.kernel.gone);
    this.showBusy();
  }

  answered() {
    const told = this.told;
    this.view.kernel.answers();
    if (!this.wish) return;
    if (told.n !== this.asked) {
      // Another view of the same player asked. Of several wishes that are under way at once a notebook sends the
      // last one alone: where nothing is under way any more, this one was not.
      if (told.n >= this.count) this.send();
      return;
    }
    this.wish = null;
    this.error = told.error || "";
    if (told.form) {
      this.form = told.form;
      this.state = "form";
    } else if (told.branch) {
      this.state = "shown";
      this.branch = told.branch;
    }
    this.show();
    const first = this.state === "form" ? this.box.querySelector("input[type=radio]:checked, input[type=radio]:enabled") : this.error ? null : this.back;
    if (first && !(this.state === "form" && this.view.root.contains(document.activeElement) && !this.box.contains(document.activeElement) && document.activeElement !== this.button && document.activeElement !== this.view.root)) {
      first.focus({ preventScroll: true });
    }
  }

  show() {
    this.view.root.classList.toggle("mcpsim-branching", this.state === "shown");
    this.hold();
    if (this.button) this.button.setAttribute("aria-expanded", String(this.state !== "closed"));
    this.box.hidden = this.state === "closed";
    if (!this.wish) this.view.kernel.expect(false);
    this.showBusy();
    if (this.state === "closed") this.box.replaceChildren();
    else if (this.state === "form") this.box.replaceChildren(...this.formNodes());
    else this.box.replaceChildren(...this.branchNodes());
    if (this.state === "shown") {
      const { view, branch } = this;
      const first = branch.rows.findIndex((row, i) => i + 1 >= branch.start && row.state !== "same");
      this.pairs.set({ ...branch, left: view.data }, first < 0 ? branch.start || 1 : first + 1);
    } else if (this.state === "closed") {
      measureAgain(this.view);
    }
  }

  // The player behind the comparison goes along: whoever comes back is where he was.
  along(row) {
    const step = this.branch.rows[row - 1]?.left;
    if (!step || step === this.view.model.get("cursor")) return;
    this.view.model.set("cursor", step);
    this.view.model.save_changes();
  }

  makeButton(label, action) {
    const made = html("button", { type: "button" }, label);
    made.addEventListener("click", action);
    return made;
  }

  formNodes() {
    const close = this.makeButton("Close", () => this.close());
    if (!this.form) {
      const looking = html("p", { class: "mcpsim-branch-looking", role: "status", hidden: this.view.kernel.gone }, "Looking for what can be changed here …");
      return [this.view.kernel.line, this.error ? html("p", { role: "alert" }, this.error) : looking, close];
    }
    const { step, choices, next } = this.form;
    if (!choices.some((one) => one.id === this.chosen && !one.why)) this.chosen = (choices.find((one) => !one.why) || {}).id;
    const name = `mcpsim-branch-${Math.random().toString(36).slice(2)}`;
    const options = choices.filter((one) => !one.why).map((one) => this.choice(one, name));
    const refused = choices.filter((one) => one.why);
    const where = step ? `What shall happen after step ${step}?` : "What shall happen before the first step?";
    const form = html(
      "form",
      {},
      html("fieldset", {}, html("legend", {}, where), next ? html("p", { class: "mcpsim-quiet" }, "The next message is ", html("bdi", {}, next), ".") : null, ...options),
      this.error ? html("p", { role: "alert", class: "mcpsim-branch-error" }, this.error) : null,
    );
    if (refused.length) {
      const reasons = refused.map((one) => html("li", { dir: "auto" }, html("b", {}, one.label), `: ${one.why}`));
      form.append(html("details", {}, html("summary", {}, `${refused.length} not possible here`), html("ul", {}, ...reasons)));
    }
    const submit = html("button", { type: "submit", disabled: !options.length }, "Play again with this change");
    const busy = html("span", { class: "mcpsim-branch-busy" }, "Waiting for the kernel …");
    form.append(html("div", { class: "mcpsim-branch-buttons" }, submit, close, busy));
    form.addEventListener("keydown", (event) => {
      // Among radio buttons these keys choose; they are not those of the player behind.
      if (event.key.startsWith("Arrow") && event.target.matches("input[type=radio]")) event.stopPropagation();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit(form);
    });
    return [this.view.kernel.line, form];
  }

  choice(one, name) {
    const radio = html("input", { type: "radio", name, value: one.id, checked: one.id === this.chosen });
    const fields = html("div", { class: "mcpsim-branch-fields", hidden: one.id !== this.chosen }, ...one.fields.map((field) => this.field(field)));
    radio.addEventListener("change", () => {
      this.chosen = one.id;
      for (const other of this.box.querySelectorAll(".mcpsim-branch-fields")) other.hidden = other !== fields;
    });
    return html("div", { class: "mcpsim-branch-choice" }, html("label", { dir: "auto" }, radio, " ", one.label), fields);
  }

  field({ name, label, type, value, values }) {
    let input;
    if (type === "text") {
      input = html("textarea", { rows: Math.min(14, String(value).split("\n").length + 1), spellcheck: "false", dir: "ltr" });
      input.value = value;
    } else if (type === "choice") {
      input = html("select", {}, ...values.map(([key, text]) => html("option", { value: key }, text)));
      input.value = value;
    } else if (type === "switch") {
      input = html("input", { type: "checkbox", checked: value });
    } else {
      input = html("input", { type: "number", min: 0, step: "any", value });
    }
    input.dataset.field = name;
    return type === "switch" ? html("label", { class: "mcpsim-branch-switch" }, input, ` ${label}`) : html("label", {}, html("span", {}, label), input);
  }

  submit(form) {
    const chosen = form.querySelector("input[type=radio]:checked");
    // Once is enough, and nobody sees at once that it is being played.
    if (!chosen || this.playing) return;
    const change = { id: chosen.value };
    for (const input of chosen.closest(".mcpsim-branch-choice").querySelectorAll("[data-field]")) {
      change[input.dataset.field] = input.type === "checkbox" ? input.checked : input.value;
    }
    this.ask(this.form.step, change);
  }

  printed(text) {
    const box = html("pre", { dir: "auto", tabindex: "0", role: "group", "aria-label": "What the story printed" }, text);
    return html("details", { class: "mcpsim-branch-printed" }, html("summary", { tabindex: "0" }, "What the story printed, played again"), box);
  }

  branchNodes() {
    const { told, ended, wanted, printed } = this.branch;
    this.back = this.makeButton("Back to the first run", () => this.close());
    const other = this.makeButton("Another change here", () => {
      this.state = "form";
      this.error = "";
      this.show();
      this.box.querySelector("input:checked")?.focus({ preventScroll: true });
    });
    const step = this.form.step;
    return [
      html("p", { class: "mcpsim-branch-told", dir: "auto" }, html("b", {}, step ? `After step ${step}: ` : "Before the first step: "), ...prose(told)),
      ended ? html("p", { class: wanted ? "mcpsim-branch-end" : "mcpsim-branch-error", dir: "auto" }, ...prose(ended)) : null,
      printed ? this.printed(printed) : null,
      html("div", { class: "mcpsim-branch-buttons" }, this.back, other),
      this.pairs.element,
    ].filter(Boolean);
  }
}

// What was hidden has no size until it is seen again.
function measureAgain(view) {
  view.diagram.width = 0;
  view.diagram.resize();
}
