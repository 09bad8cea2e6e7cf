// Folding: the rounds of a question, the pages of a list or a subscription as one row.
//
// The step that such a thread begins with stands for all of it. One step forward or back goes past what is
// folded; whoever goes straight to a folded step, or follows a finding or a search to it, opens it. Play tells
// every step, and shows the row of one that is folded for as long as it is told.

const NOTHING_FOLDS = "There is nothing to fold here: no rounds, no pages and no subscription.";

class Folding {
  static KEYS = [
    ["c", "fold or unfold the rounds, pages or subscription of this step"],
    ["Shift + c", "fold or unfold all of them"],
  ];

  constructor(view) {
    this.view = view;
    // What is folded, by name: another run of the same story has it folded too.
    this.folded = new Set();
  }

  tools() {
    this.find();
    this.button = null;
    if (!this.threads.size) return [];
    this.button = this.view.toggle("Fold", () => this.foldAll());
    this.button.title = "Rounds, pages and subscriptions as one row each (Shift + c)";
    this.showButton();
    return [this.button];
  }

  // The first step of each thread, and how many steps it has.
  find() {
    this.threads = new Map();
    for (const step of this.view.data.steps) {
      if (step.thread < 0) continue;
      const known = this.threads.get(step.thread);
      if (known) known.count += 1;
      else this.threads.set(step.thread, { first: step.n, count: 1 });
    }
    // One step alone cannot be folded.
    for (const [thread, { count }] of this.threads) if (count < 2) this.threads.delete(thread);
  }

  name(thread) {
    return `${thread} ${this.view.data.threads[thread].label}`;
  }

  isFolded(step) {
    return this.threads.has(step.thread) && this.folded.has(this.name(step.thread));
  }

  skips(step) {
    return this.isFolded(step) && this.threads.get(step.thread).first !== step.n;
  }

  // What a thread is. Of what is still to come nothing is told where that is hidden.
  words(thread) {
    const { kind, label, parts } = this.view.data.threads[thread];
    const method = label.split(" ")[0];
    if (kind === "subscription") return `subscription ${label.split(" ").pop()}`;
    const noun = { rounds: "round", pages: "page" }[kind];
    if (!parts || this.view.hiding) return `${noun}s of ${method}`;
    return `${parts} ${noun}${parts === 1 ? "" : "s"} of ${method}`;
  }

  count(thread) {
    return this.view.hiding ? "" : `, ${this.threads.get(thread).count} steps`;
  }

  // The same beside the label of a message, which says of what. Seen and heard it is the same text.
  inShort(thread) {
    return `${this.words(thread).replace(/^(\d+ \w+) of .*$/, "$1")}${this.count(thread)}`;
  }

  tags(step) {
    const known = this.threads.get(step.thread);
    if (!known || known.first !== step.n) return [];
    const folded = this.isFolded(step);
    const text = folded ? `▸ ${this.inShort(step.thread)}` : "▾";
    const tag = html("span", { class: "mcpsim-fold", title: folded ? "Unfold (c)" : "Fold (c)" }, text);
    // For the mouse alone: within an option of a list nothing else can be pressed. The key is c.
    tag.addEventListener("click", (event) => {
      event.stopPropagation();
      this.toggle(step.thread);
    });
    return [tag];
  }

  // The row that stands for all of them says how many they are.
  widens(step) {
    return this.isFolded(step);
  }

  says(step) {
    return this.isFolded(step) ? `folded: ${this.inShort(step.thread)}` : "";
  }

  onKey(event) {
    if (event.key === "C") this.foldAll();
    else if (event.key === "c") this.foldHere();
    else return false;
    return true;
  }

  foldHere() {
    const thread = this.view.data.steps[this.view.cursor - 1]?.thread ?? -1;
    if (this.threads.has(thread)) this.toggle(thread);
    else this.view.say(this.threads.size ? "This step belongs to nothing that can be folded." : NOTHING_FOLDS);
  }

  toggle(thread) {
    if (!this.threads.has(thread)) return;
    const name = this.name(thread);
    if (!this.folded.delete(name)) this.folded.add(name);
    this.changed();
  }

  get all() {
    return [...this.threads.keys()].every((thread) => this.folded.has(this.name(thread)));
  }

  foldAll() {
    if (!this.threads.size) return this.view.say(NOTHING_FOLDS);
    const all = this.all;
    for (const thread of this.threads.keys()) {
      if (all) this.folded.delete(this.name(thread));
      else this.folded.add(this.name(thread));
    }
    this.changed();
  }

  changed() {
    this.showButton();
    // The step at hand is not folded away: the one that stands for it takes its place.
    const step = this.view.data.steps[this.view.cursor - 1];
    const inList = this.view.root.contains(document.activeElement) && document.activeElement.matches("[role=option]");
    if (step && this.skips(step)) this.view.go(this.threads.get(step.thread).first);
    this.view.rearrange();
    if (inList) this.view.diagram.focusRow();
  }

  showButton() {
    if (this.button) this.button.setAttribute("aria-pressed", String(this.threads.size > 0 && this.all));
  }

  moved(step) {
    if (!step || !this.skips(step) || this.view.model.get("playing")) return;
    this.folded.delete(this.name(step.thread));
    this.showButton();
    this.view.rearrange();
  }
}
