// A long recording comes in pieces (see Pieces in mcpsim.widgets.view): where its steps are, and what they say
// around the cursor, is here from the beginning; the rest is asked for, what is looked at first.

// So many steps around the cursor, with what stands before it: a step back shall find its message too.
const NEAR = 60;
const BEFORE = 20;
// Of the others, so many at a time: nobody who asks for something else meanwhile is to wait long.
const ROWS_AT_ONCE = 800;
const BODIES_AT_ONCE = 400;

const ON_ITS_WAY = "This step is still on its way to this page.";

// What stands for a step until it has come.
function comingStep(n) {
  return { n, coming: true, label: "…", short: "…", gist: "", what: ON_ITS_WAY, rule: -1, time: "", era: "", family: 0 };
}

function lacksBody(step) {
  return Boolean(step) && (step.coming || (Boolean(step.frame) && step.json === undefined));
}

// Whether a piece of these data has not come yet: "rest" or "findings".
function isComing(data, piece) {
  return Boolean(data.coming) && data.coming.includes(piece);
}

// The data of a player with a place for each step, also for those that have not come yet.
function opened(data) {
  if (!data || !data.outline) return data;
  const outline = JSON.parse(data.outline);
  data.outline = "";
  const { kinds, fates } = outline;
  const lanes = data.parties;
  let y = 0;
  for (let i = 0; i < outline.y.length; i++) {
    const step = comingStep(data.steps.length + 1);
    y += outline.y[i];
    step.y = y;
    step.kind = kinds[outline.kind[i]];
    step.from = lanes[outline.from[i]];
    step.to = lanes[outline.to[i]] ?? "";
    step.thread = outline.thread[i];
    step.part = outline.part[i];
    step.exchange = outline.exchange[i];
    if (fates[outline.fate[i]]) {
      step.fate = fates[outline.fate[i]];
      step.y2 = outline.y2[i] === null ? null : y + outline.y2[i];
      step.arrives = outline.arrives[i];
    }
    data.steps.push(step);
  }
  if (data.near) putSteps(data, data.near);
  data.near = null;
  return data;
}

function putSteps(data, { first, steps }) {
  steps.forEach((row, i) => {
    const step = data.steps[first - 1 + i];
    if (!step) return;
    Object.assign(step, row);
    if (row.what !== undefined) step.coming = false;
  });
}

// Put a piece in its place; false where it does not fit to what is here.
function putPiece(data, message) {
  if (message.piece === "steps") {
    // Other views of the same recording may have asked for other texts.
    if (message.known > data.texts.length) return false;
    data.texts.splice(message.known, message.texts.length, ...message.texts);
    putSteps(data, message);
    return true;
  }
  const { piece, scale, pins, ...rest } = message;
  Object.assign(data, rest);
  if (scale) {
    const { scaled, scaled2 } = JSON.parse(scale);
    let y = 0;
    data.steps.forEach((step, i) => {
      y += scaled[i];
      step.scaled = y;
      if (step.fate !== undefined) step.scaled2 = scaled2[i] === null ? null : y + scaled2[i];
    });
  }
  for (const [n, numbers] of pins || []) data.steps[n - 1].pins = numbers;
  data.coming = data.coming.filter((one) => one !== piece);
  return true;
}

// For the data of a player: which steps its views look at, and what asks for them.
const LOOKED_AT = new WeakMap();

// Say that a view shows these steps: they come before others.
function lookAt(data, first, last) {
  const looked = LOOKED_AT.get(data);
  if (!looked) return;
  looked.range = [first, last];
  looked.ask();
}

// What to ask for next, or null where all is here.
function nextPiece(data, cursor, [first, last], sweeping) {
  const { steps, texts } = data;
  const find = (test, from, until) => {
    for (let i = Math.max(0, from); i < Math.min(steps.length, until); i++) if (test(steps[i])) return i;
    return -1;
  };
  const piece = (from, count, what) => ({ wants: "steps", first: Math.max(0, from) + 1, count, texts: texts.length, rows: true, bodies: true, ...what });
  const isAbsent = (step) => step.coming;
  const at = cursor - 1;
  const around = (test) => {
    const after = find(test, at, steps.length);
    return after < 0 ? find(test, 0, at) : after;
  };
  const rows = () => {
    const row = around(isAbsent);
    return row < 0 ? null : piece(row, ROWS_AT_ONCE, { bodies: false });
  };
  // Whoever draws the slider about looks at something else all the time: by turns, what all steps say comes too.
  const swept = sweeping && rows();
  if (swept) return swept;
  if (lacksBody(steps[at])) return piece(at - BEFORE, NEAR);
  const near = find(lacksBody, at - BEFORE, at + NEAR / 2);
  if (near >= 0) return piece(near, NEAR);
  const seen = find(isAbsent, first - 1, last);
  if (seen >= 0) return piece(seen, last - seen, { bodies: false });
  if (isComing(data, "rest")) return { wants: "rest" };
  const absent = rows();
  if (absent) return absent;
  if (isComing(data, "findings")) return { wants: "findings" };
  const body = around(lacksBody);
  return body < 0 ? null : piece(body, BODIES_AT_ONCE, { rows: false });
}

// Runs once for each model: all views of it share what came.
function fetchPieces(model) {
  // One at a time: what is needed at once is never behind more than one other.
  let waiting = false;
  let sweeping = false;
  const ask = () => {
    if (waiting || !(model.get("kernel") || model.get("pieces"))) return;
    const data = opened(model.get("data"));
    const wanted = nextPiece(data, model.get("cursor"), LOOKED_AT.get(data)?.range ?? [0, 0], sweeping);
    if (!wanted) return;
    sweeping = !sweeping;
    waiting = true;
    model.send(wanted);
  };
  const heard = (message) => {
    if (!message || !message.piece) return;
    waiting = false;
    // Without what was asked for, asking again would never end.
    if (putPiece(opened(model.get("data")), message) && (!message.steps || message.steps.length)) ask();
  };
  const renewed = () => {
    waiting = false;
    LOOKED_AT.set(opened(model.get("data")), { range: [0, 0], ask });
    ask();
  };
  const calls = { "msg:custom": heard, "change:data": renewed, "change:cursor": ask };
  for (const [event, callback] of Object.entries(calls)) model.on(event, callback);
  renewed();
  return () => {
    for (const [event, callback] of Object.entries(calls)) model.off(event, callback);
  };
}
