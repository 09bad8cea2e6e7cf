
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
