// Whether somebody still answers what this side asks for.
//
// JupyterLab tells the models of a restart: what made the widget is gone then, and whatever is sent is lost. Of a
// kernel that died, and from other places where notebooks run, nothing comes. So a long silence is said as well,
// as a guess. Nothing is held back for it: a kernel that is busy answers late.

const KERNEL_GONE = "The kernel was restarted: run the cell again.";
const KERNEL_SILENT = "No answer yet: the kernel is busy, or gone. If it was restarted, run the cell again.";
// How long nothing may come back before that is said.
const KERNEL_PATIENCE_MS = 6_000;

class Kernel {
  // `told` is called where there is something else to say than before.
  constructor(model, told = () => {}) {
    this.model = model;
    this.told = told;
    this.gone = false;
    this.timer = 0;
    this.line = html("p", { class: "mcpsim-kernel", hidden: true });
    // There is no such event before the first view: what it reports here is an end.
    this.heard = () => {
      this.gone = true;
      this.expect(false);
    };
    model.on("comm_live_update", this.heard);
  }

  remove() {
    clearTimeout(this.timer);
    this.model.off("comm_live_update", this.heard);
  }

  // Something came from there.
  answers() {
    this.gone = false;
    this.expect(false);
  }

  // Whether an answer is due. Who asks again while one is, waits from then on.
  expect(due) {
    clearTimeout(this.timer);
    this.say(this.gone ? KERNEL_GONE : "");
    if (due && !this.gone) this.timer = setTimeout(() => this.say(KERNEL_SILENT), KERNEL_PATIENCE_MS);
  }

  say(text) {
    if (this.line.textContent === text) return;
    this.line.textContent = text;
    this.line.hidden = !text;
    // The status of a widget is another line, as long as there is nothing to say here.
    if (text) this.line.setAttribute("role", "status");
    else this.line.removeAttribute("role");
    this.told();
  }
}
