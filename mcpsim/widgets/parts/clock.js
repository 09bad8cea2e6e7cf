// The clock of play.

const STEP_TIME_MS = 1600;

// Runs once for each model, not for each view: two views of one player must not make it twice as fast.
function initialize({ model }) {
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    if (model.get("playing")) timer = setTimeout(tick, STEP_TIME_MS / (model.get("speed") || 1));
  };
  const tick = () => {
    const last = opened(model.get("data")).steps.length;
    const next = Math.min(last, model.get("cursor") + 1);
    model.set("cursor", next);
    if (next >= last) model.set("playing", false);
    model.save_changes();
  };
  const events = ["change:playing", "change:speed", "change:cursor"];
  for (const event of events) model.on(event, wait);
  wait();
  const forget = fetchPieces(model);
  return () => {
    forget();
    clearTimeout(timer);
    for (const event of events) model.off(event, wait);
  };
}
