// The bodies of a long recording's messages: the first ones come with it, and the browser asks for the others
// in pieces, what is around the cursor first.

const PIECE = 400;
// So much of what stands before the cursor comes with it: a step back shall find its message too.
const BEFORE = 20;

function lacksBody(step) {
  return Boolean(step) && Boolean(step.frame) && step.json === undefined;
}

// Runs once for each model: all views of it share what came.
function fetchBodies(model) {
  let waiting = false;
  const ask = () => {
    if (waiting || !model.get("kernel")) return;
    const { steps, texts } = model.get("data");
    const begin = Math.max(0, model.get("cursor") - 1 - BEFORE);
    const near = steps.findIndex((step, i) => i >= begin && lacksBody(step));
    const first = near < 0 ? steps.findIndex(lacksBody) : near;
    if (first < 0) return;
    waiting = true;
    model.send({ bodies: [first + 1, PIECE, texts.length] });
  };
  const heard = (message) => {
    if (!message || !message.bodies) return;
    const { first, bodies, known, texts } = message.bodies;
    const data = model.get("data");
    data.texts.splice(known, texts.length, ...texts);
    bodies.forEach((body, i) => data.steps[first - 1 + i] && Object.assign(data.steps[first - 1 + i], body));
    waiting = false;
    // Without a body that was asked for, asking again would never end.
    if (bodies.length) ask();
  };
  const renewed = () => {
    waiting = false;
    ask();
  };
  model.on("msg:custom", heard);
  model.on("change:data", renewed);
  ask();
  return () => {
    model.off("msg:custom", heard);
    model.off("change:data", renewed);
  };
}
