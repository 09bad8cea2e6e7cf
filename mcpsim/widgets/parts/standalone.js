
// ------------------------------------------------------------------------------------ the standalone page

// A stand-in for the model of a widget: the same four values, and nobody on the other side.
{
  const values = { cursor: 0, playing: false, speed: 1 };
  Object.assign(values, JSON.parse(document.getElementById("mcpsim-data").textContent));
  const listeners = new Map();
  const model = {
    get: (name) => values[name],
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      for (const callback of [...(listeners.get(`change:${name}`) || [])]) callback();
    },
    save_changes() {},
    // The pieces of a long recording are in the page too, each an element of its own, and are read when they
    // are wanted. Some come after this script.
    send(wanted) {
      const size = values.pieces;
      const name = wanted.wants === "steps" ? Math.floor((wanted.first - 1) / size) : wanted.wants;
      const answer = () => {
        const piece = document.getElementById(`mcpsim-piece-${name}`);
        // Without anything after it, it may be here in part.
        if (!piece?.nextSibling && document.readyState === "loading") return setTimeout(answer, 20);
        const message = JSON.parse(piece.textContent);
        for (const callback of [...(listeners.get("msg:custom") || [])]) callback(message);
      };
      setTimeout(answer);
    },
    on(event, callback) {
      listeners.set(event, [...(listeners.get(event) || []), callback]);
    },
    off(event, callback) {
      listeners.set(event, (listeners.get(event) || []).filter((each) => each !== callback));
    },
  };
  initialize({ model });
  render({ model, el: document.getElementById("mcpsim-player") });
  // The page is nothing but the player, so the keys work from the start.
  document.querySelector(".mcpsim-player").focus({ preventScroll: true });
}
