// Find by method, id or text, and show only some kinds and lanes.

class Find {
  static KEYS = [["/", "find, and what to show; Enter and Shift + Enter go through what is found"]];

  constructor(view) {
    this.view = view;
    this.open = false;
    this.text = "";
    this.found = [];
    // What is not to be shown: the same kinds and lanes also in another run.
    this.off = { kind: new Set(), lane: new Set() };
  }

  tools() {
    this.button = html("button", { type: "button", title: "Find and filter (/)" }, "Find");
    this.button.addEventListener("click", () => this.toggle());
    return [this.button];
  }

  bar() {
    this.texts = [];
    this.field = html("input", { type: "search", class: "mcpsim-find-field", "aria-label": "Find method, id or text", placeholder: "method, id or text" });
    this.field.value = this.text;
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") this.toggle(false);
      else return;
      this.view.handled(event);
    });
    this.count = html("span", { class: "mcpsim-find-count", role: "status" });
    const button = (sign, label, by) => {
      const made = html("button", { type: "button", title: label }, sign);
      made.setAttribute("aria-label", label);
      made.addEventListener("click", () => this.next(by));
      return made;
    };
    this.shown = html("span", { class: "mcpsim-find-count", role: "status" });
    this.all = html("button", { type: "button" }, "Show all");
    this.all.addEventListener("click", () => this.filters && this.showAll());
    const { steps, parties } = this.view.data;
    const kinds = new Set(steps.map((step) => step.kind));
    this.boxes = [];
    this.element = html(
      "div",
      { class: "mcpsim-find", hidden: !this.open, role: "search", "aria-label": "Find and filter" },
      html("div", { class: "mcpsim-find-line" }, this.field, button("‹", "Previous match", -1), button("›", "Next match", 1), this.count),
      this.choices("kind", "Kinds", Object.keys(KINDS).filter((kind) => kinds.has(kind)), (kind) => [mark(kind), KINDS[kind]]),
      this.choices("lane", "Lanes", parties, (lane) => [html("bdi", {}, lane)]),
      html("div", { class: "mcpsim-find-line" }, this.shown, this.all),
    );
    return this.element;
  }

  choices(what, title, values, nodes) {
    const labels = values.map((value) => {
      const box = html("input", { type: "checkbox" });
      box.checked = !this.off[what].has(value);
      box.addEventListener("change", () => {
        if (box.checked) this.off[what].delete(value);
        else this.off[what].add(value);
        this.filtered();
      });
      this.boxes.push(box);
      return html("label", {}, box, ...nodes(value));
    });
    return html("fieldset", { class: "mcpsim-find-choices" }, html("legend", {}, title), ...labels);
  }

  built() {
    this.showState();
    this.search();
  }

  toggle(open = !this.open) {
    this.open = open;
    this.element.hidden = !open;
    if (open) {
      this.field.focus();
      this.field.select();
    } else {
      this.field.value = "";
      this.view.root.focus({ preventScroll: true });
    }
    this.search();
    this.showState();
  }

  onKey(event) {
    if (event.key !== "/") return false;
    this.toggle(true);
    return true;
  }

  onEscape() {
    if (!this.open) return false;
    this.toggle(false);
    return true;
  }

  // All that can be found of a step, in small letters. It is put together once.
  textOf(step) {
    if (step.coming) return "";
    const parts = [step.label, step.short, step.gist, step.from, step.to, step.json || "", ...(step.raw || []).map((block) => block[1])];
    const known = this.texts[step.n];
    if (known !== undefined || lacksBody(step)) return known ?? parts.join("\n").toLowerCase();
    return (this.texts[step.n] = parts.join("\n").toLowerCase());
  }

  piecesCame() {
    if (this.text.trim()) this.search();
  }

  search() {
    this.text = this.field.value;
    const wanted = this.text.trim().toLowerCase();
    const steps = this.view.data.steps;
    this.found = wanted ? steps.filter((step) => this.textOf(step).includes(wanted)).map((step) => step.n) : [];
    this.among = new Set(this.found);
    this.tell();
    this.view.refresh();
  }

  // What is hidden because it is still to come is not found either.
  get reachable() {
    return this.view.hiding ? this.found.filter((n) => n <= this.view.cursor) : this.found;
  }

  next(by) {
    const found = this.reachable;
    if (!found.length) return;
    const cursor = this.view.cursor;
    const n = by > 0 ? (found.find((one) => one > cursor) ?? found[0]) : (found.findLast((one) => one < cursor) ?? found[found.length - 1]);
    this.view.go(n);
  }

  tell() {
    const found = this.reachable;
    const at = found.indexOf(this.view.cursor) + 1;
    const number = (count) => count.toLocaleString("en");
    const matches = `${number(found.length)} match${found.length === 1 ? "" : "es"}`;
    const told = !this.text.trim() ? "" : !found.length ? "no match" : at ? `${number(at)} of ${matches}` : matches;
    const text = told && this.view.data.steps.some(lacksBody) ? `${told} so far` : told;
    if (this.count.textContent !== text) this.count.textContent = text;
  }

  moved() {
    this.tell();
    this.tellShown();
  }

  classes(step) {
    return this.among?.has(step.n) ? ["found"] : [];
  }

  says(step) {
    return this.among?.has(step.n) ? "found" : "";
  }

  // A message is shown where its kind and both of its lanes are.
  skips(step) {
    return this.off.kind.has(step.kind) || this.off.lane.has(step.from) || this.off.lane.has(step.to);
  }

  filtered() {
    this.showState();
    this.view.rearrange();
  }

  showAll() {
    for (const off of Object.values(this.off)) off.clear();
    for (const box of this.boxes) box.checked = true;
    this.filtered();
  }

  showState() {
    const steps = this.view.data.steps;
    const count = steps.filter((step) => !this.skips(step)).length;
    const filtered = count < steps.length;
    this.filters = filtered ? `${count.toLocaleString("en")} of ${steps.length.toLocaleString("en")} steps shown` : "";
    this.tellShown();
    // Not `disabled`: whoever has just pressed it would lose the focus, and with it all keys.
    this.all.setAttribute("aria-disabled", String(!filtered));
    this.button.textContent = filtered ? "Find (filtered)" : "Find";
    this.button.setAttribute("aria-expanded", String(this.open));
  }

  // The step at hand is always there, whatever is filtered out.
  tellShown() {
    const step = this.view.data.steps[this.view.cursor - 1];
    const beside = this.filters && step && this.skips(step) ? `, and step ${step.n}, where you are` : "";
    const text = this.filters ? `${this.filters}${beside}` : "All steps are shown";
    if (this.shown.textContent !== text) this.shown.textContent = text;
  }
}
