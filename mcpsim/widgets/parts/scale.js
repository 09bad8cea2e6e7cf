// Time to scale, or a row for each step. The step at hand stays where it is on the screen.

class Scale {
  static KEYS = [["s", "time to scale, or a row for each step"]];

  constructor(view) {
    this.view = view;
  }

  menu() {
    return this.view.behind ? [] : [["Time to scale", () => this.toggle(), this.view.diagram.scaled]];
  }

  onKey(event) {
    if (event.key !== "s") return false;
    this.toggle();
    return true;
  }

  toggle() {
    const diagram = this.view.diagram;
    diagram.setScaled(!diagram.scaled);
    if (this.view.tabular) this.view.toggleTable();
    if (this.view.say) this.view.say(this.words(diagram));
  }

  words(diagram) {
    if (!diagram.scaled) return "A row for each step.";
    if (!diagram.inScale) return "Time to scale, as soon as the heights are here.";
    return `Time to scale: ${diagram.scale()}. Where the axis is broken, it is not.`;
  }
}
