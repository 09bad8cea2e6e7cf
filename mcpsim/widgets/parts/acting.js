// What the small widgets share: a frame, a line that says what happened, and one round trip for each wish.
//
// The model holds `asked` (what this side wishes, and which wish it is) and `shown` (what the other side made
// of it: see mcpsim.widgets.acting). A subclass builds its controls once in `build()` and fills in what there
// is to see in `show()`: so the focus stays where it is.

class ActingView {
  constructor(model, el, name) {
    this.model = model;
    this.later = [];
    this.id = `mcpsim-${name}-${Math.random().toString(36).slice(2)}`;
    this.root = html("div", { class: `mcpsim-ui mcpsim-acting mcpsim-${name}`, role: "region", tabindex: "-1" });
    this.title = html("strong", { class: "mcpsim-acting-title" });
    this.status = html("p", { class: "mcpsim-acting-status", role: "status", dir: "auto" });
    this.error = html("p", { class: "mcpsim-acting-error", role: "alert", dir: "auto", hidden: true });
    this.busy = html("p", { class: "mcpsim-acting-busy" }, "Waiting for the kernel …");
    this.kernel = new Kernel(model, () => this.showBusy());
    el.replaceChildren(this.root);
    this.build();
    this.root.prepend(this.kernel.line);
    // Space, arrows and digits belong to the control that has the focus, and to nobody above it.
    this.root.addEventListener("keydown", (event) => event.stopPropagation());
    const follow = () => {
      this.kernel.answers();
      this.follow();
    };
    const wait = () => this.wait();
    model.on("change:shown", follow);
    model.on("change:asked", wait);
    this.forget = () => {
      model.off("change:shown", follow);
      model.off("change:asked", wait);
      this.kernel.remove();
    };
    this.follow();
  }

  remove() {
    this.forget();
    this.root.remove();
  }

  get shown() {
    return this.model.get("shown");
  }

  get waiting() {
    return (this.model.get("asked").n || 0) > this.shown.n;
  }

  // One wish after the other: of several that are under way at once, a notebook would send the last one alone.
  ask(wish) {
    if (this.waiting) {
      if (this.later.length < 20) this.later.push(wish);
      return;
    }
    this.model.set("asked", { ...wish, n: Math.max(this.model.get("asked").n || 0, this.shown.n) + 1 });
    this.model.save_changes();
  }

  follow() {
    const { error, title } = this.shown;
    this.root.setAttribute("aria-label", title);
    if (this.title.textContent !== title) this.title.textContent = title;
    this.write(this.error, error);
    this.error.hidden = !error;
    this.show(this.shown);
    this.wait();
    if (!this.waiting && this.later.length) this.ask(this.later.shift());
  }

  wait() {
    this.kernel.expect(this.waiting);
    this.showBusy();
  }

  // What will not be answered is not waited for.
  showBusy() {
    this.root.setAttribute("aria-busy", String(this.waiting && !this.kernel.gone));
  }

  say(text) {
    this.write(this.status, text);
  }

  // Only what is new is read out.
  write(node, text) {
    if (node.written === text) return;
    node.written = text;
    node.replaceChildren(...prose(text));
  }

  // The first line: what this is, and what to do with it.
  head(told) {
    const words = typeof told === "string" ? html("span", { class: "mcpsim-acting-quiet" }, told) : told;
    return html("div", { class: "mcpsim-acting-head" }, this.title, words);
  }

  // A button that cannot be used now stays where it is, so that the focus does.
  button(text, act, more = {}) {
    const button = html("button", { type: "button", ...more }, text);
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") !== "true") act();
    });
    return button;
  }

  usable(button, yes) {
    button.setAttribute("aria-disabled", String(!yes));
  }

  // A control and its label.
  field(label, control, more = null) {
    this.fields = (this.fields || 0) + 1;
    control.id = control.id || `${this.id}-${this.fields}`;
    return html("span", { class: "mcpsim-acting-field" }, html("label", { for: control.id }, label), control, more);
  }

  // New choices for a select, which keeps its value where it is among them.
  choices(select, choices) {
    const text = JSON.stringify(choices);
    if (select.dataset.choices === text) return;
    const value = select.value;
    select.dataset.choices = text;
    select.replaceChildren(...choices.map(([each, label]) => html("option", { value: each }, label)));
    if (choices.some(([each]) => String(each) === value)) select.value = value;
  }

  // Where a control stands, as the other side has it; not where its user has turned it since: the answer to that
  // comes, and this one is old.
  stand(control, value) {
    if (this.waiting || this.later.length) return;
    control[control.type === "checkbox" ? "checked" : "value"] = value;
  }

  select(choices) {
    const select = html("select", {});
    this.choices(select, choices);
    return select;
  }
}

// A box that scrolls sideways, also by key.
function scrollBox(label, ...children) {
  return html("div", { class: "mcpsim-acting-scroll", role: "group", "aria-label": label, tabindex: "0" }, ...children);
}

// JSON as it travels.
function jsonBox(label, text) {
  return html(
    "pre",
    { class: "mcpsim-json mcpsim-acting-json", role: "group", "aria-label": label, tabindex: "0" },
    html("bdi", {}, text),
  );
}

// What is said for those who do not see the marks.
function spoken(text) {
  return html("span", { class: "mcpsim-acting-spoken" }, text);
}
