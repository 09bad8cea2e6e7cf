// The bench.
//
// Knobs above a player, and below it a table of the last runs.
//
// Beside the player's values the model holds `asked` (where this side wants the knobs to stand, and which
// change that is) and `shown` (what the other side made of it: see mcpsim.widgets.bench).

function renderBench({ model, el }) {
  const bench = new BenchView(model, el);
  return () => bench.remove();
}

// A player whose recording is replaced while somebody looks at it: what was switched on stays on.
class FollowingView extends View {
  build() {
    const body = this.root.querySelector(".mcpsim-body");
    const height = body ? body.style.height : "";
    const focused = this.root.contains(document.activeElement);
    super.build();
    this.root.querySelector(".mcpsim-body").style.height = height;
    if (focused) this.root.focus({ preventScroll: true });
  }
}

class BenchView {
  constructor(model, el) {
    this.model = model;
    this.id = `mcpsim-bench-${Math.random().toString(36).slice(2)}`;
    this.controls = new Map();
    this.root = html("div", { class: "mcpsim-bench", role: "region" });
    this.knobs = html("div", { class: "mcpsim-ui mcpsim-knobs" });
    const player = html("div", { class: "mcpsim-bench-player" });
    this.runs = html("div", { class: "mcpsim-ui mcpsim-runs" });
    this.kernel = new Kernel(model, () => this.showBusy());
    this.root.append(this.knobs, player, this.runs);
    el.replaceChildren(this.root);
    // Space, arrows and digits belong to the control that has the focus, and to nobody above it.
    this.knobs.addEventListener("keydown", (event) => event.stopPropagation());
    this.buildKnobs();
    this.view = new FollowingView(model, player);
    const follow = () => {
      this.kernel.answers();
      this.show();
    };
    const wait = () => this.showWaiting();
    model.on("change:shown", follow);
    model.on("change:asked", wait);
    this.forget = () => {
      model.off("change:shown", follow);
      model.off("change:asked", wait);
      this.kernel.remove();
    };
    this.show();
  }

  remove() {
    this.forget();
    this.view.remove();
    this.root.remove();
  }

  get shown() {
    return this.model.get("shown");
  }

  // ------------------------------------------------------------------------------------- asking

  ask(settings) {
    this.send({ settings });
  }

  send(wanted) {
    const asked = this.model.get("asked");
    // A link text is on its way, and may bring another story: these are the knobs of the one before.
    if (this.waiting && asked.link !== undefined && wanted.link === undefined) return;
    this.model.set("asked", { n: (asked.n || 0) + 1, ...wanted });
    this.model.save_changes();
  }

  get waiting() {
    return (this.model.get("asked").n || 0) > this.shown.n;
  }

  // Where the controls stand now: the other side may still be busy with the change before. Of that, a knob that is
  // not named stands at its default.
  settings() {
    const wanted = this.waiting && this.model.get("asked").settings;
    return wanted || Object.fromEntries(this.shown.knobs.map((knob) => [knob.name, knob.value]));
  }

  turn(name, value) {
    this.ask({ ...this.settings(), [name]: value });
  }

  // ------------------------------------------------------------------------------------- the knobs

  buildKnobs() {
    const groups = new Map();
    this.controls.clear();
    for (const knob of this.shown.knobs) {
      if (!groups.has(knob.group)) groups.set(knob.group, []);
      groups.get(knob.group).push(this.buildKnob(knob));
    }
    const sets = [...groups].map(([name, knobs]) => {
      const legend = name ? html("legend", {}, name) : null;
      return html("fieldset", {}, legend, html("div", { class: "mcpsim-set" }, ...knobs));
    });
    const reset = html("button", { type: "button" }, "Back to the story");
    reset.addEventListener("click", () => this.ask({}));
    this.status = html("p", { class: "mcpsim-status", role: "status" });
    this.error = html("p", { class: "mcpsim-bench-error", role: "alert", dir: "auto", hidden: true });
    this.knobs.replaceChildren(
      this.kernel.line,
      html(
        "div",
        { class: "mcpsim-header" },
        html("strong", { class: "mcpsim-title" }, "Bench"),
        html("span", { class: "mcpsim-quiet" }, "Turn a knob, and the story is played again."),
        html("span", { class: "mcpsim-tools" }, ...(this.shown.opens ? this.buildPaste() : []), reset),
      ),
      html("div", { class: "mcpsim-sets" }, ...sets),
      this.status,
      this.error,
    );
  }

  // Where the link text of somebody else is pasted.
  buildPaste() {
    const typed = this.paste ? this.paste.value : "";
    this.paste = html("input", { type: "text", placeholder: "Paste a link text", "aria-label": "Link text to open" });
    this.paste.setAttribute("spellcheck", "false");
    this.paste.value = typed;
    const form = html("form", { class: "mcpsim-paste" }, this.paste, html("button", { type: "submit" }, "Open"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.paste.value.trim()) this.send({ link: this.paste.value });
      else this.paste.focus();
    });
    return [form];
  }

  buildKnob(knob) {
    const id = `${this.id}-${this.controls.size}`;
    const control = { choice: () => this.select(knob), number: () => this.number(knob), switch: () => this.check(knob) }[
      knob.kind
    ]();
    control.id = id;
    const hints = [knob.none && knob.kind === "number" ? `Empty: ${knob.none}.` : "", knob.hint].filter(Boolean);
    const about = hints.length ? html("span", { class: "mcpsim-about", id: `${id}-about` }, hints.join(" ")) : null;
    if (about) control.setAttribute("aria-describedby", about.id);
    const label = html("label", { for: id }, knob.label);
    const unit = knob.unit ? html("span", { class: "mcpsim-unit" }, knob.unit) : null;
    const line = html("span", { class: "mcpsim-control" }, control, unit);
    const parts = knob.kind === "switch" ? [html("span", { class: "mcpsim-control" }, control, label)] : [label, line];
    const box = html("div", { class: `mcpsim-knob mcpsim-knob-${knob.kind}` }, ...parts, about);
    this.controls.set(knob.name, { control, box });
    return box;
  }

  select(knob) {
    const control = html("select", {});
    control.addEventListener("change", () => this.turn(knob.name, control.value));
    return control;
  }

  number(knob) {
    const { low, high, step, none } = knob;
    const control = html("input", { type: "number", min: low, max: high, step, placeholder: none || null });
    control.addEventListener("change", () => {
      const empty = control.value.trim() === "";
      const { [knob.name]: stand = this.shown.knobs.find((one) => one.name === knob.name).value } = this.settings();
      const typed = empty ? (none ? null : stand) : clamp(Number(control.value), low, high);
      const value = typed === null || !Number.isInteger(step) ? typed : Math.round(typed);
      control.value = value === null ? "" : value;
      if (value !== stand) this.turn(knob.name, value);
    });
    return control;
  }

  check(knob) {
    const control = html("input", { type: "checkbox" });
    control.addEventListener("change", () => this.turn(knob.name, control.checked));
    return control;
  }

  // ------------------------------------------------------------------------------------- what is shown

  show() {
    const shown = this.shown;
    this.root.setAttribute("aria-label", `Bench: ${shown.title}`);
    this.follow(shown);
    // A later change of the same user is under way: its answer will come, and this one is old.
    if (!this.waiting) for (const knob of shown.knobs) this.showKnob(knob);
    this.status.textContent = shown.status;
    this.error.textContent = shown.error;
    this.error.hidden = !shown.error;
    this.showRuns(shown);
    this.showWaiting();
  }

  // A link text may have brought another story, with other knobs.
  follow(shown) {
    const kinds = shown.knobs.map((knob) => `${knob.name} ${knob.kind}`).join();
    if (kinds === this.kinds && shown.title === this.title) return;
    const known = this.kinds !== undefined;
    [this.kinds, this.title] = [kinds, shown.title];
    if (!known) return;
    const pasting = this.knobs.contains(document.activeElement) && Boolean(this.paste);
    this.buildKnobs();
    if (pasting) this.paste.focus({ preventScroll: true });
  }

  showWaiting() {
    this.kernel.expect(this.waiting);
    this.showBusy();
  }

  // A run takes a moment. Where it takes longer, the style says so.
  showBusy() {
    this.root.setAttribute("aria-busy", String(this.waiting && !this.kernel.gone));
  }

  showKnob(knob) {
    const found = this.controls.get(knob.name);
    if (!found) return;
    const { control, box } = found;
    // What changes nothing beside the others is not offered.
    box.hidden = !knob.matters;
    if (knob.kind === "switch") control.checked = knob.value;
    else if (knob.kind === "number") control.value = knob.value === null ? "" : knob.value;
    else {
      const same = control.dataset.choices === JSON.stringify(knob.choices);
      if (!same) {
        control.dataset.choices = JSON.stringify(knob.choices);
        control.replaceChildren(...knob.choices.map(([value, text]) => html("option", { value }, text)));
      }
      control.value = knob.value;
    }
  }

  showRuns(shown) {
    const heads = ["Run", "What was turned", ...shown.columns].map((text) => html("th", { scope: "col" }, text));
    const focused = this.runs.contains(document.activeElement) ? document.activeElement.dataset.run : "";
    const rows = shown.rows.map((row, i) => this.row(row, i === 0, shown.columns));
    const scrolled = this.runs.querySelector(".mcpsim-scroll");
    const left = scrolled ? scrolled.scrollLeft : 0;
    const box = html(
      "div",
      { class: "mcpsim-scroll", role: "group", "aria-label": "The last runs", tabindex: "0" },
      html(
        "table",
        {},
        html("caption", {}, "The last runs, the newest first. ▲ and ▼: more or less than in the run before."),
        html("thead", {}, html("tr", {}, ...heads)),
        html("tbody", {}, ...rows),
      ),
    );
    this.runs.replaceChildren(box);
    box.scrollLeft = left;
    const again = focused && box.querySelector(`button[data-run="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
  }

  row(row, newest, columns) {
    const button = html("button", { type: "button", "data-run": row.number }, row.number);
    button.setAttribute("aria-label", `Run ${row.number}: turn the knobs as they stood`);
    button.title = "Turn the knobs as they stood in this run";
    button.addEventListener("click", () => this.ask(row.settings));
    const turned = row.changed.length ? row.changed.map((text) => html("div", {}, text)) : ["nothing"];
    const attributes = newest ? { "aria-current": "true" } : {};
    return html(
      "tr",
      attributes,
      html("th", { scope: "row" }, button),
      html("td", { class: "mcpsim-turned", dir: "auto" }, ...turned),
      ...row.cells.map((cell, i) => this.cell(cell, i === columns.length - 1, row.failed)),
    );
  }

  cell(cell, last, failed) {
    const change = cell.change
      ? html(
          "span",
          { class: "mcpsim-differs", title: cell.said },
          html("span", { "aria-hidden": "true" }, cell.change),
          html("span", { class: "mcpsim-spoken" }, ` (${cell.said})`),
        )
      : null;
    const error = last && failed ? html("span", { class: "mcpsim-tag" }, "error") : null;
    const parts = [error, html("bdi", {}, cell.text), change].filter(Boolean);
    return html("td", { class: last ? "mcpsim-outcome" : "mcpsim-figure" }, ...parts.flatMap((part, i) => (i ? [" ", part] : [part])));
  }
}
