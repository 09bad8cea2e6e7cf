// The marks of the protocol: one shape for each kind of message, and what the audit says.

const KINDS = {
  request: "request",
  response: "result",
  error: "error",
  notification: "notification",
  batch: "batch",
  malformed: "not a message",
  http: "HTTP only",
  stderr: "standard error",
  note: "note",
  closed: "closed",
  handler: "work stopped",
  question: "asked outside of MCP",
  answer: "answered outside of MCP",
};

// What the audit's levels mean for whoever looks at a picture.
const LEVELS = { MUST: "breaks a rule (MUST)", SHOULD: "against advice (SHOULD)", note: "note of the audit" };

// The kinds whose label does not say by itself what they are.
const NAMED = new Set(["request", "notification", "note"]);

// The findings of the audit at a step, the gravest first.
function findingsAt(data, step) {
  const order = Object.keys(LEVELS);
  const found = (step.pins || []).map((i) => data.findings[i]);
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

// The findings in words. A batch of a thousand messages can break a rule a thousand times in one step.
const FINDINGS_SHOWN = 20;

function findingsOf(data, step) {
  const found = findingsAt(data, step);
  const shown = found.slice(0, FINDINGS_SHOWN).map(finding);
  const rest = found.length - shown.length;
  if (rest) shown.push(html("p", { class: "mcpsim-quiet" }, `and ${rest.toLocaleString("en")} more findings at this step`));
  return shown;
}

function pin(level) {
  const box = svg("svg", { viewBox: "0 0 16 16", class: "mcpsim-mark", "aria-hidden": "true" });
  box.append(svg("path", { d: "M3 15 V1.5 H13 L10 5 L13 8.5 H3", class: level === "MUST" ? "full" : "line" }));
  return html("span", { class: `mcpsim-pin mcpsim-pin-${level}` }, box, html("span", { class: "mcpsim-pin-text" }, LEVELS[level] || level));
}

function finding(one) {
  const hint = one.hint ? [" ", ...prose(one.hint)] : [];
  return html(
    "p",
    { class: "mcpsim-finding", dir: "auto" },
    pin(one.level),
    html("b", {}, html("bdi", {}, one.party), ": "),
    ...prose(one.message),
    ...hint,
    " ",
    specLink(one.url, { full: true }),
  );
}

// The mark of each kind is a shape of its own, so that colour is never the only difference.
function mark(kind) {
  const box = svg("svg", { viewBox: "0 0 16 16", class: `mcpsim-mark mcpsim-k-${kind}`, "aria-hidden": "true" });
  const draw = {
    request: () => [svg("path", { d: "M3 2 L14 8 L3 14 Z", class: "full" })],
    response: () => [
      svg("circle", { cx: 8, cy: 8, r: 6, class: "line" }),
      svg("path", { d: "M5 8.3 L7.3 10.6 L11.2 5.8", class: "line" }),
    ],
    error: () => [
      svg("path", { d: "M5.2 1.5 H10.8 L14.5 5.2 V10.8 L10.8 14.5 H5.2 L1.5 10.8 V5.2 Z", class: "full" }),
      svg("path", { d: "M8 4.2 V8.8 M8 11 V11.9", class: "cutout" }),
    ],
    notification: () => [svg("path", { d: "M8 1.5 L14.5 8 L8 14.5 L1.5 8 Z", class: "line" })],
    batch: () => [
      svg("rect", { x: 1.5, y: 4.5, width: 9, height: 9, class: "line" }),
      svg("path", { d: "M5 4.5 V1.5 H14.5 V11 H10.5", class: "line" }),
    ],
    malformed: () => [
      svg("path", { d: "M8 1.5 L15 14 H1 Z", class: "line" }),
      svg("path", { d: "M8 6 V9.8 M8 11.4 V12.2", class: "line" }),
    ],
    http: () => [svg("rect", { x: 3, y: 3, width: 10, height: 10, class: "line" })],
    stderr: () => [svg("path", { d: "M2 4 L7 8 L2 12 M8.5 12.5 H14", class: "line" })],
    note: () => [svg("path", { d: "M2.5 2 H13.5 V10 L9.5 14 H2.5 Z M9.5 14 V10 H13.5", class: "line" })],
    closed: () => [svg("path", { d: "M1.5 8 H11 M12.5 2.5 V13.5", class: "line" })],
    handler: () => [
      svg("circle", { cx: 8, cy: 8, r: 6, class: "line" }),
      svg("path", { d: "M5.5 5.5 L10.5 10.5 M10.5 5.5 L5.5 10.5", class: "line" }),
    ],
    question: () => [svg("path", { d: "M2 2.5 H14 V10.5 H8 L4.5 14 V10.5 H2 Z", class: "line" })],
    answer: () => [
      svg("path", { d: "M2 2.5 H14 V10.5 H8 L4.5 14 V10.5 H2 Z", class: "line" }),
      svg("path", { d: "M5 6.5 L7.2 8.5 L11 4.8", class: "line" }),
    ],
  }[kind];
  box.append(...(draw ? draw() : []));
  return box;
}

// The head of an arrow that comes in at (x, y) along the direction (dx, dy).
function arrowHead(kind, x, y, dx, dy) {
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const at = (along, across) =>
    `${(x - ux * along - uy * across).toFixed(1)} ${(y - uy * along + ux * across).toFixed(1)}`;
  switch (kind) {
    case "request":
    case "error":
    case "batch":
      return svg("path", { d: `M${at(0, 0)} L${at(12, 5.5)} L${at(12, -5.5)} Z`, class: "full" });
    case "notification":
      return svg("path", { d: `M${at(0, 0)} L${at(7, 5)} L${at(14, 0)} L${at(7, -5)} Z`, class: "hollow" });
    case "question":
    case "answer":
      return svg("circle", { cx: at(5, 0).split(" ")[0], cy: at(5, 0).split(" ")[1], r: 5, class: "hollow" });
    case "http":
    case "stderr":
      return svg("path", { d: `M${at(0, 4)} L${at(0, -4)} L${at(8, -4)} L${at(8, 4)} Z`, class: "hollow" });
    default:
      return svg("path", { d: `M${at(11, 6)} L${at(0, 0)} L${at(11, -6)}`, class: "open" });
  }
}

function cross(x, y) {
  const r = 7;
  return svg("path", {
    d: `M${x - r} ${y - r} L${x + r} ${y + r} M${x + r} ${y - r} L${x - r} ${y + r}`,
    class: "cross",
  });
}
