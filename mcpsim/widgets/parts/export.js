// The recording as a file. Python writes it, in one round trip, and the browser saves it.

const EXPORTS = [
  ["html", "Export: page (HTML)"],
  ["svg", "Export: picture (SVG)"],
  ["mermaid", "Export: diagram as text (Mermaid)"],
  ["markdown", "Export: transcript (Markdown)"],
  ["jsonl", "Export: recording (JSON Lines)"],
];
// So many steps take a while to write.
const EXPORT_MANY = 2_000;
// How long nothing may come back before that is said.
const EXPORT_PATIENCE_MS = 10_000;

class Export {
  constructor(view) {
    this.view = view;
    // Other views of the same model hear the answers to this one as well.
    this.wanted = "";
    this.count = 0;
    this.heard = (answer) => this.save(answer);
    if (this.kernel) view.model.on("msg:custom", this.heard);
  }

  remove() {
    clearTimeout(this.timer);
    if (this.kernel) this.view.model.off("msg:custom", this.heard);
  }

  get kernel() {
    return Boolean(this.view.model.get("kernel"));
  }

  menu() {
    if (!this.kernel) return [["Export …", () => this.explain()]];
    return EXPORTS.map(([name, label]) => [label, () => this.ask(name)]);
  }

  explain() {
    this.view.say(
      "This page is an export already, and holds all that it shows. SVG, Mermaid, Markdown and JSON Lines are written by Python: in the menu of a player in a notebook, or by ",
      html("code", {}, "mcpsim run NAME --format …"),
      ".",
    );
  }

  ask(name) {
    this.count += 1;
    if (this.view.kernel.gone) return this.view.say(KERNEL_GONE);
    this.wanted = `${Math.random().toString(36).slice(2)}-${this.count}`;
    const { last } = this.view;
    this.view.say(last < EXPORT_MANY ? "Writing the file …" : `Writing the file: about ${last.toLocaleString("en")} steps, this takes a while …`);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.view.say(KERNEL_SILENT), EXPORT_PATIENCE_MS + 10 * last);
    this.view.model.send({ export: name, n: this.wanted });
  }

  save(answer) {
    if (!answer || !this.wanted || answer.exported !== this.wanted) return;
    this.wanted = "";
    clearTimeout(this.timer);
    if (answer.error) {
      this.view.say(`The file was not written. ${answer.error}`);
      return;
    }
    const url = URL.createObjectURL(new Blob([answer.text], { type: answer.type }));
    const link = html("a", { href: url, download: answer.name });
    this.view.root.append(link);
    link.click();
    link.remove();
    // The browser reads it after this: later is soon enough.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    this.view.say("Saved as ", html("code", {}, answer.name), ".");
  }
}
