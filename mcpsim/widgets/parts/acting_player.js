// A small widget with a player below it. What is chosen above is played below, in the same view: what was
// switched on in the player stays on.

class ActingPlayerView {
  constructor(model, el, make) {
    const above = html("div", {});
    const below = html("div", { class: "mcpsim-acting-player" });
    el.replaceChildren(above, below);
    this.acting = make(above);
    this.player = new View(model, below);
  }

  remove() {
    this.acting.remove();
    this.player.remove();
  }
}
