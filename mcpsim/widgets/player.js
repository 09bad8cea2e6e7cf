// The player: steps through a recording that is already here, message by message.
//
// One plain ES module: no build step and no network. It runs as an anywidget and, with a stand-in for
// the model, in the standalone page. All text from a recording goes through text nodes, never through
// markup, so nothing in a message can run.
//
// The model holds what all views share: `data` (as mcpsim.widgets.view.player_data describes it), `cursor`
// (0 is before the first step), `playing` and `speed`. What belongs to one view alone stays in that view.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const STEP_TIME_MS = 1600;
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const AXIS_WIDTH = 92;
const LANE_MARGIN = 56;
const LANE_GAP_MIN = 160;
const ROW_HEIGHT = 40;
const TABLE_CHUNK = 500;

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
};

// What the audit's levels mean for whoever looks at a picture.
const LEVELS = { MUST: "breaks a rule (MUST)", SHOULD: "against advice (SHOULD)", note: "note of the audit" };

// The kinds whose label does not say by itself what they are.
const NAMED = new Set(["request", "notification", "note"]);

const KEYS = [
  ["Home", "to the start, before the first step"],
  ["←", "one step back"],
  ["Space", "play or pause"],
  ["→", "one step forward"],
  ["End", "to the last step"],
  ["↑ ↓", "along the list of messages"],
  ["0–9, g", "type a step number, then Enter"],
  ["+ −", "faster, slower"],
  ["f", "to the next finding of the audit"],
  ["h", "hide what comes next"],
  ["t", "messages as a table"],
  ["Alt + 1–3", "Message, Raw bytes, Memory"],
  ["?", "this help; Esc closes it"],
];

// ---------------------------------------------------------------------------------------- small helpers

function html(tag, attributes = {}, ...children) {
  const node = fill(document.createElement(tag), attributes, children);
  // JupyterLab takes the keys b, h and others for its own. It looks for this mark from the element that has
  // the focus upwards, and stops at the first that fits a shortcut: so whatever can have the focus needs it.
  const focusable = ["button", "input", "select", "a"].includes(tag) || "tabindex" in attributes;
  if (focusable || attributes.role === "option") node.setAttribute("data-lm-suppress-shortcuts", "true");
  return node;
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// `code` between backticks, the rest as it is.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? html("code", {}, part) : document.createTextNode(part)));
}

// A link to the specification: the page's name, and for a rule also the revision and the path to the page.
function specLink(url, { full }) {
  const place = url.replace(/^https:\/\/[^/]+\/specification\//, "");
  const [revision, ...path] = place.replace(/#.*$/, "").split("/");
  const text = full ? `${path.join("/")} (${revision})` : path.filter((part) => part !== "index").pop();
  return html("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: place }, text);
}

// Where a step stands in what it belongs to. Of what is still to come nothing is told where that is hidden.
function partOf(data, step, hiding) {
  const thread = data.threads[step.thread];
  if (!thread) return "";
  if (thread.kind === "subscription") return `subscription ${thread.label.split(" ").pop()}`;
  const noun = { rounds: "round", pages: "page" }[thread.kind];
  return `${noun} ${step.part}${thread.parts && !hiding ? ` of ${thread.parts}` : ""}`;
}

// The findings of the audit at a step, the gravest first.
function findingsAt(data, step) {
  const order = Object.keys(LEVELS);
  const found = (step.pins || []).map((i) => data.findings[i]);
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

function pin(level) {
  const box = svg("svg", { viewBox: "0 0 16 16", class: "mcpsim-mark", "aria-hidden": "true" });
  box.append(svg("path", { d: "M3 15 V1.5 H13 L10 5 L13 8.5 H3", class: level === "MUST" ? "full" : "line" }));
  return html("span", { class: `mcpsim-pin mcpsim-pin-${level}` }, box, LEVELS[level] || level);
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

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

function calm() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// -------------------------------------------------------------------------------------------- shapes

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

// ------------------------------------------------------------------------------------- the clock of play

// Runs once for each model, not for each view: two views of one player must not make it twice as fast.
function initialize({ model }) {
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    if (model.get("playing")) timer = setTimeout(tick, STEP_TIME_MS / (model.get("speed") || 1));
  };
  const tick = () => {
    const last = model.get("data").steps.length;
    const next = Math.min(last, model.get("cursor") + 1);
    model.set("cursor", next);
    if (next >= last) model.set("playing", false);
    model.save_changes();
  };
  const events = ["change:playing", "change:speed", "change:cursor"];
  for (const event of events) model.on(event, wait);
  wait();
  return () => {
    clearTimeout(timer);
    for (const event of events) model.off(event, wait);
  };
}

// ------------------------------------------------------------------------------------------ one view

function render({ model, el }) {
  const view = new View(model, el);
  return () => view.remove();
}

class View {
  constructor(model, el) {
    this.model = model;
    this.undo = [];
    this.hiding = false;
    this.tabular = false;
    this.tab = "message";
    this.root = html("div", {
      class: "mcpsim-player",
      role: "region",
      tabindex: "-1",
    });
    el.replaceChildren(this.root);
    this.build();
    this.listen(model, "change:cursor", () => this.showCursor());
    this.listen(model, "change:playing", () => this.showPlaying());
    this.listen(model, "change:speed", () => this.showSpeed());
    this.listen(model, "change:data", () => this.build());
    const keys = (event) => this.onKey(event);
    this.root.addEventListener("keydown", keys);
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.root);
    this.undo.push(() => sizes.disconnect());
  }

  listen(model, event, callback) {
    model.on(event, callback);
    this.undo.push(() => model.off(event, callback));
  }

  remove() {
    for (const undo of this.undo) undo();
    this.undo = [];
    this.root.remove();
  }

  get data() {
    return this.model.get("data");
  }

  get last() {
    return this.data.steps.length;
  }

  get cursor() {
    return clamp(this.model.get("cursor"), 0, this.last);
  }

  // ------------------------------------------------------------------------------------- moving

  go(step) {
    const cursor = clamp(Math.round(Number(step)) || 0, 0, this.last);
    // A change is shown when the model tells of it. Without one, the number field may still need it.
    if (cursor === this.model.get("cursor")) this.showCursor();
    this.model.set("cursor", cursor);
    if (this.model.get("playing")) this.model.set("playing", false);
    this.model.save_changes();
  }

  // After the last finding comes the first one again.
  nextFinding() {
    const pinned = this.data.steps.filter((step) => step.pins);
    if (!pinned.length) return;
    this.go((pinned.find((step) => step.n > this.cursor) || pinned[0]).n);
  }

  play() {
    const playing = !this.model.get("playing");
    if (playing && this.cursor >= this.last) this.model.set("cursor", 0);
    this.model.set("playing", playing);
    this.model.save_changes();
  }

  setSpeed(speed) {
    this.model.set("speed", speed);
    this.model.save_changes();
  }

  faster(by) {
    const now = SPEEDS.findIndex((speed) => speed >= this.model.get("speed"));
    this.setSpeed(SPEEDS[clamp((now < 0 ? SPEEDS.length - 1 : now) + by, 0, SPEEDS.length - 1)]);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey) return;
    const target = event.target;
    const typing = target.matches("input[type=number], select, textarea");
    if (event.key === "Escape") {
      if (typing) this.root.focus();
      this.toggleHelp(false);
      return this.handled(event);
    }
    if (event.altKey) {
      // The key and not the character: with Alt some keyboards write other characters than digits.
      const tab = { Digit1: "message", Digit2: "raw", Digit3: "memory" }[event.code];
      if (!tab) return;
      this.showTab(tab);
      return this.handled(event);
    }
    if (typing) return event.stopPropagation();
    if (event.key === " " && target.matches("button, a")) return;
    if (event.key.startsWith("Arrow") && target.matches("[role=tab], input[type=range]")) return;
    const moves = {
      Home: () => this.go(0),
      End: () => this.go(this.last),
      ArrowLeft: () => this.go(this.cursor - 1),
      ArrowRight: () => this.go(this.cursor + 1),
      ArrowUp: () => this.go(Math.max(1, this.cursor - 1)),
      ArrowDown: () => this.go(this.cursor + 1),
      " ": () => this.play(),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      g: () => this.askStep(""),
      f: () => this.nextFinding(),
      h: () => this.toggleHiding(),
      t: () => this.toggleTable(),
      "?": () => this.toggleHelp(),
    };
    // In a panel that can scroll, these keys scroll it.
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (vertical && target.closest(".mcpsim-panel, .mcpsim-table, .mcpsim-help")) return;
    if (/^[0-9]$/.test(event.key)) {
      this.askStep(event.key);
    } else if (moves[event.key]) {
      const inList = target.matches("[role=option]");
      moves[event.key]();
      if (inList && event.key !== "g") this.focusRow();
    } else {
      return;
    }
    this.handled(event);
  }

  handled(event) {
    event.preventDefault();
    event.stopPropagation();
  }

  askStep(first) {
    this.number.value = first;
    this.number.focus();
    if (!first) this.number.select();
  }

  // ------------------------------------------------------------------------------------- building

  build() {
    const data = this.data;
    this.rows = new Map();
    this.arrows = new Map();
    this.root.setAttribute("aria-label", `Player: ${data.title}`);
    this.root.style.setProperty("--run-height", `${data.height + 60}px`);
    this.root.replaceChildren(
      this.buildHeader(data),
      this.buildControls(),
      this.buildHelp(),
      this.buildNarration(),
      html("div", { class: "mcpsim-body" }, this.buildDiagram(data), this.buildTableBox(), this.buildPanel()),
    );
    this.width = 0;
    this.resize();
    this.showPlaying();
    this.showSpeed();
    this.showCursor();
  }

  buildHeader(data) {
    const transport = { stdio: "stdio", http: "Streamable HTTP" }[data.transport] || data.transport;
    const facts = [...data.eras, transport].filter(Boolean);
    this.hideButton = this.toggle("Hide what comes next", () => this.toggleHiding());
    this.tableButton = this.toggle("Table", () => this.toggleTable());
    this.findingsButton = null;
    if (data.findings.length) {
      const count = `${data.findings.length.toLocaleString("en")} finding${data.findings.length === 1 ? "" : "s"}`;
      this.findingsButton = html("button", { type: "button", title: "To the next finding (f)" }, count);
      this.findingsButton.setAttribute("aria-label", `${count} of the audit: to the next one`);
      this.findingsButton.addEventListener("click", () => this.nextFinding());
    }
    this.helpButton = html("button", { type: "button", "aria-expanded": "false", title: "Help (?)" }, "?");
    this.helpButton.setAttribute("aria-label", "Help: keys and shapes");
    this.helpButton.addEventListener("click", () => this.toggleHelp());
    return html(
      "div",
      { class: "mcpsim-header" },
      html("strong", { class: "mcpsim-title", dir: "auto" }, data.title),
      html("span", { class: "mcpsim-facts" }, ...facts.map((fact) => html("span", { class: "mcpsim-fact" }, fact))),
      html(
        "span",
        { class: "mcpsim-tools" },
        ...[this.findingsButton, this.hideButton, this.tableButton, this.helpButton].filter(Boolean),
      ),
    );
  }

  toggle(label, action) {
    const button = html("button", { type: "button", "aria-pressed": "false" }, label);
    button.addEventListener("click", action);
    return button;
  }

  buildControls() {
    const icons = {
      first: "M4 3 V13 M13 3 L6 8 L13 13 Z",
      back: "M12 3 L4 8 L12 13 Z",
      play: "M4 2.5 L14 8 L4 13.5 Z",
      forward: "M4 3 L12 8 L4 13 Z",
      last: "M12 3 V13 M3 3 L10 8 L3 13 Z",
    };
    const button = (name, label, key, action) => {
      const icon = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: icons[name] }));
      const made = html("button", { type: "button", class: `mcpsim-${name}`, title: `${label} (${key})` }, icon);
      made.setAttribute("aria-label", label);
      made.addEventListener("click", action);
      return made;
    };
    this.playButton = button("play", "Play", "Space", () => this.play());
    this.playButton.append(html("span", { class: "mcpsim-word" }, "Play"));
    this.range = html("input", { type: "range", min: 0, max: this.last, step: 1, "aria-label": "Step" });
    this.range.addEventListener("input", () => this.go(this.range.value));
    this.number = html("input", { type: "number", min: 0, max: this.last, "aria-label": "Go to step" });
    this.number.addEventListener("change", () => this.go(this.number.value));
    this.number.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      this.go(this.number.value);
      this.focusRow();
      this.handled(event);
    });
    this.number.addEventListener("blur", () => (this.number.value = this.cursor));
    this.speed = html("select", { "aria-label": "Speed" });
    this.speed.addEventListener("change", () => this.setSpeed(Number(this.speed.value)));
    return html(
      "div",
      { class: "mcpsim-controls", role: "group", "aria-label": "Controls" },
      button("first", "First", "Home", () => this.go(0)),
      button("back", "Back", "←", () => this.go(this.cursor - 1)),
      this.playButton,
      button("forward", "Forward", "→", () => this.go(this.cursor + 1)),
      button("last", "Last", "End", () => this.go(this.last)),
      this.range,
      html("label", { class: "mcpsim-goto" }, "Step ", this.number, ` of ${this.last.toLocaleString("en")}`),
      html("label", {}, "Speed ", this.speed),
    );
  }

  buildHelp() {
    const keys = KEYS.map(([key, text]) => html("div", {}, html("kbd", {}, key), html("span", {}, text)));
    const shapes = Object.entries(KINDS).map(([kind, text]) => html("div", {}, mark(kind), html("span", {}, text)));
    this.help = html(
      "div",
      { class: "mcpsim-help", hidden: true },
      html("div", {}, html("strong", {}, "Keys"), html("div", { class: "mcpsim-columns" }, ...keys)),
      html("div", {}, html("strong", {}, "Shapes"), html("div", { class: "mcpsim-columns" }, ...shapes)),
      html(
        "p",
        {},
        "Time runs downwards. An arrow leans because the message takes time; a cross is a message that got ",
        "lost; a bar beside a lane is a handler at work, and a cross at its end is a handler that was stopped.",
      ),
    );
    return this.help;
  }

  buildNarration() {
    this.where = html("p", { class: "mcpsim-where" });
    this.what = html("p", { class: "mcpsim-what", dir: "auto" });
    this.rule = html("p", { class: "mcpsim-rule" });
    this.found = html("div", { class: "mcpsim-found" });
    const live = { class: "mcpsim-narration", "aria-live": "polite", "aria-atomic": "true" };
    return html("div", live, this.where, this.what, this.rule, this.found);
  }

  buildDiagram(data) {
    this.heads = html("div", { class: "mcpsim-heads", "aria-hidden": "true" });
    this.svg = svg("svg", { class: "mcpsim-drawing", "aria-hidden": "true" });
    this.lanesLayer = svg("g");
    this.barsLayer = svg("g");
    this.arrowsLayer = svg("g");
    this.dot = svg("circle", { r: 5, class: "mcpsim-dot", visibility: "hidden" });
    this.waitsLayer = svg("g");
    this.svg.append(this.lanesLayer, this.barsLayer, this.arrowsLayer, this.waitsLayer, this.dot);
    this.list = html("div", { class: "mcpsim-list", role: "listbox", "aria-label": "Messages" });
    this.canvas = html("div", { class: "mcpsim-canvas" }, this.heads, this.list, this.svg);
    this.diagram = html("div", { class: "mcpsim-diagram" }, this.canvas);
    if (data.left_out) {
      const text = `${data.left_out.toLocaleString("en")} more steps are in the recording and not shown here.`;
      this.canvas.append(html("p", { class: "mcpsim-left-out" }, text));
    }
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (!row) return;
      this.go(Number(row.dataset.step));
      this.focusRow();
    });
    this.diagram.addEventListener("scroll", () => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.drawVisible());
    });
    this.undo.push(() => cancelAnimationFrame(this.frame));
    return this.diagram;
  }

  buildTableBox() {
    this.tableBox = html("div", { class: "mcpsim-table", hidden: !this.tabular, tabindex: "0" });
    this.tableBox.setAttribute("role", "group");
    this.tableBox.setAttribute("aria-label", "All messages as a table");
    return this.tableBox;
  }

  buildPanel() {
    const names = { message: "Message", raw: "Raw bytes", memory: "Memory" };
    this.tabs = {};
    this.panes = {};
    const strip = html("div", { class: "mcpsim-tabs", role: "tablist", "aria-label": "About this step" });
    // Ids tie a tab to its pane; a page can hold many players.
    const id = `mcpsim-${Math.random().toString(36).slice(2)}`;
    for (const [name, label] of Object.entries(names)) {
      const tab = html("button", { type: "button", role: "tab", id: `${id}-${name}-tab` }, label);
      tab.setAttribute("aria-controls", `${id}-${name}`);
      tab.addEventListener("click", () => this.showTab(name));
      tab.addEventListener("keydown", (event) => this.onTabKey(event, name));
      this.tabs[name] = tab;
      this.panes[name] = html("div", { role: "tabpanel", id: `${id}-${name}`, tabindex: "0", class: "mcpsim-pane" });
      this.panes[name].setAttribute("aria-labelledby", `${id}-${name}-tab`);
      strip.append(tab);
    }
    return html("div", { class: "mcpsim-panel" }, strip, ...Object.values(this.panes));
  }

  onTabKey(event, name) {
    const order = Object.keys(this.tabs);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = order[(order.indexOf(name) + by + order.length) % order.length];
    this.showTab(next);
    this.tabs[next].focus();
    this.handled(event);
  }

  // ------------------------------------------------------------------------------------- switches

  toggleHelp(open = this.help.hidden) {
    this.help.hidden = !open;
    this.helpButton.setAttribute("aria-expanded", String(open));
  }

  toggleHiding() {
    this.hiding = !this.hiding;
    this.hideButton.setAttribute("aria-pressed", String(this.hiding));
    this.showNarration(this.cursor, this.data.steps[this.cursor - 1]);
    this.drawVisible();
    if (this.tabular) this.drawTable();
  }

  toggleTable() {
    this.tabular = !this.tabular;
    this.tableButton.setAttribute("aria-pressed", String(this.tabular));
    this.tableBox.hidden = !this.tabular;
    this.diagram.hidden = this.tabular;
    if (this.tabular) this.drawTable();
    else {
      this.resize();
      this.scrollToCursor(true);
      this.drawVisible();
    }
  }

  showTab(name) {
    this.tab = name;
    for (const [other, tab] of Object.entries(this.tabs)) {
      tab.setAttribute("aria-selected", String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      this.panes[other].hidden = other !== name;
    }
    this.showPane();
  }

  showPlaying() {
    const playing = Boolean(this.model.get("playing"));
    this.playButton.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.playButton.setAttribute("title", playing ? "Pause (Space)" : "Play (Space)");
    this.playButton.querySelector(".mcpsim-word").textContent = playing ? "Pause" : "Play";
    this.playButton
      .querySelector("path")
      .setAttribute("d", playing ? "M3.5 2.5 H6.5 V13.5 H3.5 Z M9.5 2.5 H12.5 V13.5 H9.5 Z" : "M4 2.5 L14 8 L4 13.5 Z");
    this.root.classList.toggle("mcpsim-playing", playing);
  }

  showSpeed() {
    const speed = this.model.get("speed");
    const speeds = SPEEDS.includes(speed) ? SPEEDS : [...SPEEDS, speed].sort((a, b) => a - b);
    this.speed.replaceChildren(...speeds.map((each) => html("option", { value: each }, `${each}×`)));
    this.speed.value = String(speed);
  }

  // ------------------------------------------------------------------------------------- the cursor

  showCursor() {
    const cursor = this.cursor;
    const step = this.data.steps[cursor - 1];
    this.range.value = cursor;
    this.range.setAttribute("aria-valuetext", step ? `${cursor}: ${step.label}` : "before the first step");
    if (document.activeElement !== this.number) this.number.value = cursor;
    this.showNarration(cursor, step);
    this.showTab(this.tab);
    this.scrollToCursor();
    this.drawVisible();
    this.animate(step);
    if (this.tabular) this.markTable();
  }

  showNarration(cursor, step) {
    this.found.replaceChildren(...(step ? findingsAt(this.data, step).map(finding) : []));
    if (!step) {
      const count = `${this.last.toLocaleString("en")} step${this.last === 1 ? "" : "s"}`;
      this.where.replaceChildren("Before the first step");
      this.what.replaceChildren(
        this.last ? `Nothing has happened yet. ${count} will follow.` : "Nothing happens in this recording.",
      );
      this.rule.replaceChildren(this.last ? "What do you expect to come first?" : "");
      return;
    }
    const route = step.to ? `${step.from} → ${step.to}` : step.from;
    const part = partOf(this.data, step, this.hiding);
    const [text, url] = step.rule < 0 ? ["", ""] : this.data.texts[step.rule];
    const shown = [
      mark(step.kind),
      html("span", {}, `Step ${cursor} of ${this.last.toLocaleString("en")}`),
      html("span", { class: `mcpsim-kind mcpsim-k-${step.kind}` }, KINDS[step.kind] || step.kind),
      html("bdi", {}, route),
      html("span", {}, step.time),
      step.era ? html("span", { class: "mcpsim-fact" }, step.era) : null,
      part ? html("span", { class: "mcpsim-fact mcpsim-part" }, part) : null,
    ];
    this.where.replaceChildren(...shown.filter(Boolean));
    this.what.replaceChildren(...prose(step.what));
    this.rule.replaceChildren(...(text ? [html("b", {}, "Rule: "), ...prose(text), " ", specLink(url, { full: true })] : []));
  }

  animate(step) {
    this.dot.setAttribute("visibility", "hidden");
    if (this.flight) this.flight.cancel();
    const ends = step && this.ends(step);
    if (!ends || calm() || this.before === step.n || !this.dot.animate) return;
    this.before = step.n;
    this.dot.setAttribute("visibility", "visible");
    this.dot.setAttribute("class", `mcpsim-dot mcpsim-k-${step.kind}`);
    const place = (x, y) => `translate(${x}px, ${y}px)`;
    this.flight = this.dot.animate(
      [{ transform: place(ends.x1, ends.y1) }, { transform: place(ends.x2, ends.y2) }],
      { duration: 450 / Math.max(1, this.model.get("speed")), easing: "ease-in-out" },
    );
    this.flight.onfinish = () => this.dot.setAttribute("visibility", "hidden");
  }

  // ------------------------------------------------------------------------------------- the diagram

  resize() {
    const width = this.diagram.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const parties = this.data.parties;
    const gaps = Math.max(1, parties.length - 1);
    const least = AXIS_WIDTH + 2 * LANE_MARGIN + gaps * LANE_GAP_MIN;
    this.inner = Math.max(width, parties.length > 2 ? least : 0);
    const room = this.inner - AXIS_WIDTH - 2 * LANE_MARGIN;
    this.lanes = new Map(
      parties.map((party, i) => [
        party,
        AXIS_WIDTH + LANE_MARGIN + (parties.length > 1 ? (i * room) / gaps : room / 2),
      ]),
    );
    const height = this.data.height;
    this.canvas.style.width = `${this.inner}px`;
    this.list.style.height = `${height}px`;
    this.svg.setAttribute("width", this.inner);
    this.svg.setAttribute("height", height);
    this.heads.replaceChildren(
      ...parties.map((party) => {
        const head = html("bdi", { class: "mcpsim-lane", title: party }, party);
        head.style.left = `${this.lanes.get(party)}px`;
        return head;
      }),
    );
    this.lanesLayer.replaceChildren(
      ...[...this.lanes.values()].map((x) => svg("line", { x1: x, y1: 0, x2: x, y2: height, class: "mcpsim-lifeline" })),
    );
    this.waitsLayer.replaceChildren(...this.data.waits.map((wait) => this.drawWait(wait)));
    this.barsLayer.replaceChildren();
    this.arrowsLayer.replaceChildren();
    this.list.replaceChildren();
    this.rows.clear();
    this.arrows.clear();
    this.bars = new Map();
    this.scrollToCursor(true);
    this.drawVisible();
  }

  drawWait(wait) {
    const middle = (AXIS_WIDTH + this.inner) / 2;
    return svg(
      "g",
      { class: "mcpsim-wait" },
      svg("line", { x1: AXIS_WIDTH, y1: wait.y, x2: this.inner - 12, y2: wait.y }),
      svg("text", { x: middle, y: wait.y + 4, "text-anchor": "middle" }, `⋮  ${wait.text}  ⋮`),
    );
  }

  // Where the arrow of a step begins and ends; null for a step without one.
  ends(step) {
    if (!step.to || !this.lanes) return null;
    const [from, to] = [this.lanes.get(step.from), this.lanes.get(step.to)];
    if (from === undefined || to === undefined || from === to) return null;
    const side = Math.sign(to - from);
    const y2 = step.y2 ?? step.y + 14;
    if (step.fate === "delivered") return { x1: from, y1: step.y, x2: to - side * 5, y2, side };
    const part = step.fate === "dropped" ? 0.62 : 0.8;
    return { x1: from, y1: step.y, x2: from + (to - from) * part, y2, side };
  }

  top(step) {
    return step.y - 27;
  }

  bottom(step) {
    return Math.max(step.y + ROW_HEIGHT, step.y2 ?? 0) + 12;
  }

  drawVisible() {
    if (!this.lanes || this.tabular) return;
    const top = this.diagram.scrollTop - 200;
    const bottom = top + this.diagram.clientHeight + 400;
    const cursor = this.cursor;
    const current = this.data.steps[cursor - 1];
    const wanted = new Set();
    for (const step of this.data.steps) {
      if (this.bottom(step) >= top && this.top(step) <= bottom) wanted.add(step.n);
    }
    // The row that has the focus stays, wherever the view is scrolled to.
    if (current) wanted.add(cursor);
    else if (this.last) wanted.add(1);
    this.keepOnly(this.rows, wanted);
    this.keepOnly(this.arrows, wanted);
    const travelling = new Set();
    for (const n of [...wanted].sort((a, b) => a - b)) {
      const step = this.data.steps[n - 1];
      if (!this.rows.has(n)) this.addRow(step);
      if (!this.arrows.has(n)) this.addArrow(step);
      const when = n < cursor ? "past" : n > cursor ? "future" : "current";
      const onTheWay = n < cursor && step.fate !== "dropped" && step.to && (step.arrives ?? Infinity) > cursor;
      const kin = when !== "current" && current && this.related(step, current);
      const classes = [`mcpsim-k-${step.kind}`, when];
      if (kin) classes.push("kin");
      if (onTheWay) classes.push("travelling");
      if (when === "future" && this.hiding) classes.push("hidden");
      const row = this.rows.get(n);
      row.className = `mcpsim-row ${classes.join(" ")}`;
      row.setAttribute("aria-selected", String(n === cursor));
      row.tabIndex = n === cursor || (!cursor && n === 1) ? 0 : -1;
      // The mark beside the number is a shape; whoever does not see it hears of it.
      if (kin) row.setAttribute("aria-description", `belongs to step ${cursor}`);
      else row.removeAttribute("aria-description");
      row.inert = when === "future" && this.hiding;
      this.arrows.get(n).setAttribute("class", `mcpsim-arrow ${classes.join(" ")}`);
    }
    if (current) this.arrowsLayer.append(this.arrows.get(cursor));
    this.drawBars(top, bottom, current);
  }

  // Whether a step belongs to the current one: to the same request, or to the same rounds, pages or subscription.
  related(step, current) {
    if (current.thread >= 0) return step.thread === current.thread;
    return current.family > 0 && step.family === current.family;
  }

  keepOnly(nodes, wanted) {
    for (const [n, node] of nodes) {
      if (wanted.has(n)) continue;
      node.remove();
      nodes.delete(n);
    }
  }

  addRow(step) {
    const from = this.lanes.get(step.from) ?? AXIS_WIDTH;
    const ends = this.ends(step);
    const label = html(
      "span",
      { class: "mcpsim-text", title: step.gist ? `${step.label} — ${step.gist}` : step.label },
      mark(step.kind),
      html("bdi", { class: "mcpsim-label" }, this.labelFor(step, ends)),
      step.gist ? html("bdi", { class: "mcpsim-gist" }, step.gist) : null,
      step.fate === "dropped" ? html("span", { class: "mcpsim-tag" }, "lost") : null,
      step.fate === "in flight" ? html("span", { class: "mcpsim-tag" }, "not arrived") : null,
      step.copy_of ? html("span", { class: "mcpsim-tag" }, `copy of ${step.copy_of}`) : null,
      step.changed ? html("span", { class: "mcpsim-tag" }, "changed on the way") : null,
      ...findingsAt(this.data, step)
        .slice(0, 1)
        .map((one) => pin(one.level)),
    );
    const space = 12;
    if (ends) {
      const to = this.lanes.get(step.to);
      label.style.maxWidth = `${Math.abs(to - from) - 2 * space}px`;
      if (ends.side < 0) label.style.right = `${this.inner - from + space}px`;
      else label.style.left = `${from + space}px`;
    } else if (from > this.inner / 2) {
      label.style.right = `${this.inner - from - 8}px`;
      label.style.maxWidth = `${from - AXIS_WIDTH}px`;
      label.classList.add("mcpsim-boxed");
    } else {
      label.style.left = `${from - 8}px`;
      label.style.maxWidth = `${this.inner - from - space}px`;
      label.classList.add("mcpsim-boxed");
    }
    const row = html(
      "div",
      { role: "option", "data-step": step.n, "aria-posinset": step.n, "aria-setsize": this.last },
      html("span", { class: "mcpsim-number" }, step.n),
      html("span", { class: "mcpsim-time" }, step.time),
      label,
    );
    const route = step.to ? `${step.from} to ${step.to}` : step.from;
    const lost = step.fate === "dropped" ? ", lost" : step.fate === "in flight" ? ", not arrived" : "";
    const kind = NAMED.has(step.kind) ? KINDS[step.kind] : "";
    const said = [kind, step.label, step.gist].filter(Boolean).join(" ");
    const worst = findingsAt(this.data, step)[0];
    const found = worst ? `, ${LEVELS[worst.level]}` : "";
    row.setAttribute("aria-label", `${step.n}: ${route}, ${said}${lost}, at ${step.time}${found}`);
    row.style.top = `${this.top(step)}px`;
    const after = [...this.rows.keys()].filter((n) => n > step.n);
    this.list.insertBefore(row, after.length ? this.rows.get(Math.min(...after)) : null);
    this.rows.set(step.n, row);
  }

  // The full label where it has room, and the short one elsewhere: about 7.5 pixels for a character.
  labelFor(step, ends) {
    const room = ends ? Math.abs(this.lanes.get(step.to) - this.lanes.get(step.from)) - 52 : Infinity;
    return step.label.length * 7.5 <= room ? step.label : step.short;
  }

  addArrow(step) {
    const group = svg("g", { "data-step": step.n });
    const ends = this.ends(step);
    if (ends) {
      const { x1, y1, x2, y2 } = ends;
      group.append(svg("line", { x1, y1, x2, y2, class: "shaft" }));
      if (step.fate === "delivered") group.append(arrowHead(step.kind, x2, y2, x2 - x1, y2 - y1));
      else if (step.fate === "dropped") group.append(cross(x2, y2));
      else group.append(svg("text", { x: x2, y: y2 + 5, "text-anchor": "middle", class: "still" }, "…"));
      group.append(svg("circle", { cx: x1, cy: y1, r: 3, class: "start" }));
    } else {
      const x = this.lanes.get(step.from) ?? AXIS_WIDTH;
      group.append(svg("circle", { cx: x, cy: step.y, r: 4, class: "start" }));
    }
    this.arrowsLayer.append(group);
    this.arrows.set(step.n, group);
  }

  drawBars(top, bottom, current) {
    const now = current ? current.y : -1;
    this.data.bars.forEach((bar, i) => {
      const seen = bar.y2 >= top && bar.y <= bottom;
      let node = this.bars.get(i);
      if (!seen) {
        if (node) node.remove();
        this.bars.delete(i);
        return;
      }
      if (!node) {
        const x = (this.lanes.get(bar.party) ?? AXIS_WIDTH) - 4 + bar.depth * 7;
        node = svg("g", {}, svg("rect", { x, y: bar.y, width: 8, height: Math.max(4, bar.y2 - bar.y), rx: 2 }));
        if (bar.end === "cancelled") node.append(cross(x + 4, bar.y2));
        this.barsLayer.append(node);
        this.bars.set(i, node);
      }
      const when = bar.y > now ? "future" : bar.y2 < now ? "past" : "current";
      const hidden = when === "future" && this.hiding ? " hidden" : "";
      node.setAttribute("class", `mcpsim-bar ${when}${hidden}`);
    });
  }

  scrollToCursor(atOnce = false) {
    const step = this.data.steps[this.cursor - 1];
    const height = this.diagram.clientHeight;
    if (!height) return;
    const y = step ? step.y : 0;
    const seen = y - this.diagram.scrollTop;
    if (!atOnce && seen > height * 0.2 && seen < height * 0.7) return;
    const top = Math.max(0, y - height * 0.4);
    const near = Math.abs(top - this.diagram.scrollTop) < 2 * height;
    this.diagram.scrollTo({ top, behavior: !atOnce && near && !calm() ? "smooth" : "instant" });
  }

  focusRow() {
    const row = this.rows.get(this.cursor || 1);
    if (row && !this.tabular) row.focus({ preventScroll: true });
    else this.root.focus({ preventScroll: true });
  }

  // ------------------------------------------------------------------------------------- the panes

  showPane() {
    const cursor = this.cursor;
    const step = this.data.steps[cursor - 1];
    const changed = this.data.memory.some((party) => cursor > 0 && party.at.some((entry) => entry.step === cursor));
    this.tabs.memory.classList.toggle("mcpsim-news", changed);
    this.tabs.memory.replaceChildren("Memory", ...(changed ? [html("span", { class: "mcpsim-badge" }, "changed")] : []));
    const pane = this.panes[this.tab];
    pane.replaceChildren(...{ message: () => this.messagePane(step), raw: () => this.rawPane(step), memory: () => this.memoryPane(cursor) }[this.tab]());
    pane.scrollTop = 0;
  }

  messagePane(step) {
    if (!step) return [html("p", { class: "mcpsim-quiet" }, "No message yet.")];
    if (!step.frame) return [html("p", { class: "mcpsim-quiet" }, "This step is not a message: nothing crosses the wire.")];
    const parts = [html("p", { class: "mcpsim-travel" }, this.travel(step))];
    if (step.json === null) parts.push(html("p", { class: "mcpsim-quiet" }, "There is no JSON in it. Look at the raw bytes."));
    else parts.push(this.json(step));
    if (step.fields.length) parts.push(...this.fields(step));
    return parts;
  }

  travel(step) {
    const exchange = step.exchange ? ` HTTP exchange ${step.exchange}.` : "";
    const left = `Left at ${step.time}`;
    if (step.fate === "dropped") return `${left}, and was lost.${exchange}`;
    if (step.fate === "in flight") return `${left}, and had not arrived at the end.${exchange}`;
    return `${left}, on the way for ${step.took}.${exchange}`;
  }

  json(step) {
    const numbers = new Map();
    step.fields.forEach(([, , line], i) => {
      if (line >= 0 && !numbers.has(line)) numbers.set(line, i + 1);
    });
    const lines = step.json.split("\n").map((line, i) => {
      const indent = line.length - line.trimStart().length;
      const row = html("div", { class: "mcpsim-line", "data-line": i }, ...this.tokens(line.trimStart()));
      row.style.paddingLeft = `${indent + 2}ch`;
      if (numbers.has(i)) {
        row.classList.add("mcpsim-explained");
        row.append(html("sup", { class: "mcpsim-ref" }, numbers.get(i)));
      }
      return row;
    });
    return html("div", { class: "mcpsim-json", dir: "ltr" }, ...lines);
  }

  tokens(line) {
    const found = /^("(?:[^"\\]|\\.)*"): ?(.*)$/s.exec(line);
    const rest = found ? found[2] : line;
    const kind = /^"/.test(rest) ? "string" : /^[-\d]|^(true|false|null)\b/.test(rest) ? "literal" : "";
    const value = html("span", kind ? { class: `mcpsim-${kind}` } : {}, rest);
    return found ? [html("span", { class: "mcpsim-key" }, found[1]), ": ", value] : [value];
  }

  fields(step) {
    const items = step.fields.map(([path, position, line], i) => {
      const [text, url] = this.data.texts[position];
      const item = html(
        "li",
        { "data-line": line },
        html("code", { class: "mcpsim-path" }, path),
        " ",
        ...prose(text),
        " ",
        specLink(url, { full: false }),
      );
      item.value = i + 1;
      const light = (on) => {
        const row = this.panes.message.querySelector(`.mcpsim-line[data-line="${line}"]`);
        if (row) row.classList.toggle("mcpsim-lit", on);
      };
      item.addEventListener("mouseenter", () => light(true));
      item.addEventListener("mouseleave", () => light(false));
      return item;
    });
    return [html("h4", {}, "Fields that matter"), html("ol", { class: "mcpsim-fields" }, ...items)];
  }

  rawPane(step) {
    if (!step || !step.frame) return [html("p", { class: "mcpsim-quiet" }, "No bytes cross the wire at this step.")];
    return step.raw.flatMap(([title, text]) => [html("h4", {}, title), this.rawBlock(text)]);
  }

  rawBlock(text) {
    const parts = text.split("⏎").flatMap((part, i) => (i ? [html("span", { class: "mcpsim-newline", title: "newline" }, "⏎"), part] : [part]));
    return html("pre", { class: "mcpsim-raw", dir: "ltr", tabindex: "0" }, ...parts);
  }

  memoryPane(cursor) {
    const cards = this.parties().map(([name, history]) => this.memoryCard(name, history, cursor));
    const open = this.data.requests.filter(
      (request) => request.opened <= cursor && (request.ended === null || request.ended > cursor),
    );
    const travelling = this.data.steps
      .slice(0, cursor)
      .filter((step) => step.to && step.fate === "delivered" && step.arrives > cursor);
    return [
      html("div", { class: "mcpsim-cards" }, ...cards),
      html("h4", {}, "Requests in flight"),
      this.simpleList(
        open.map((request) => `${request.label} — ${request.from} waits for ${request.to}, since step ${request.opened}`),
        "none",
      ),
      ...(travelling.length
        ? [
            html("h4", {}, "Still on the way"),
            this.simpleList(travelling.map((step) => `${step.label} (step ${step.n}), to ${step.to}`), "nothing"),
          ]
        : []),
    ];
  }

  parties() {
    const known = this.data.memory.map((entry) => [
      entry.connection ? `${entry.party}, connection ${entry.connection}` : entry.party,
      entry.at,
    ]);
    const named = new Set(this.data.memory.map((entry) => entry.party));
    const silent = this.data.parties.filter((party) => !named.has(party)).map((party) => [party, null]);
    return [...known, ...silent];
  }

  memoryCard(name, history, cursor) {
    let entry = null;
    for (const each of history || []) if (each.step <= cursor) entry = each;
    const news = entry && cursor > 0 && entry.step === cursor;
    const rows = entry ? entry.rows.filter((row) => row[2] !== "forgotten" || news) : [];
    const unknown = !history && this.data.source === "import";
    const body = rows.length
      ? html("dl", {}, ...rows.map((row) => this.memoryRow(row, news)))
      : html("p", { class: "mcpsim-nothing" }, unknown ? "not known: the trace does not say" : "nothing");
    return html("div", { class: "mcpsim-card" }, html("h4", {}, html("bdi", {}, name), " remembers"), body);
  }

  memoryRow([key, value, change], news) {
    const tag = news && change ? html("span", { class: `mcpsim-change mcpsim-${change}` }, change) : null;
    return html("div", { class: tag ? "mcpsim-fresh" : "" }, html("dt", {}, html("bdi", {}, key), tag ? " " : null, tag), html("dd", { dir: "auto" }, value));
  }

  simpleList(texts, none) {
    if (!texts.length) return html("p", { class: "mcpsim-nothing" }, none);
    const shown = texts.slice(0, 50).map((text) => html("li", { dir: "auto" }, text));
    if (texts.length > shown.length) shown.push(html("li", {}, `and ${texts.length - shown.length} more`));
    return html("ul", {}, ...shown);
  }

  // ------------------------------------------------------------------------------------- the table

  drawTable() {
    const heads = ["Step", "Time", "From", "To", "Kind", "Message", "What happened"];
    this.tableRows = html("tbody");
    const table = html(
      "table",
      {},
      html("caption", {}, `All steps of “${this.data.title}”`),
      html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))),
      this.tableRows,
    );
    this.more = html("button", { type: "button" }, "Show more steps");
    this.more.addEventListener("click", () => this.addTableRows(TABLE_CHUNK));
    this.tableBox.replaceChildren(table, this.more);
    this.addTableRows(Math.max(TABLE_CHUNK, this.cursor + 50));
    this.markTable();
  }

  addTableRows(count) {
    const begin = this.tableRows.rows.length;
    const limit = this.hiding ? this.cursor : this.last;
    for (const step of this.data.steps.slice(begin, Math.min(limit, begin + count))) {
      const button = html("button", { type: "button" }, step.n);
      button.setAttribute("aria-label", `Go to step ${step.n}`);
      button.addEventListener("click", () => this.go(step.n));
      const part = partOf(this.data, step, this.hiding);
      const fate = step.fate === "dropped" ? " (lost)" : step.fate === "in flight" ? " (not arrived)" : "";
      this.tableRows.append(
        html(
          "tr",
          { "data-step": step.n },
          html("th", { scope: "row" }, button),
          html("td", {}, step.time),
          html("td", {}, html("bdi", {}, step.from)),
          html("td", {}, html("bdi", {}, step.to)),
          html("td", {}, html("span", { class: "mcpsim-cell" }, mark(step.kind), KINDS[step.kind] || step.kind)),
          html("td", {}, html("bdi", {}, `${step.label} ${step.gist}${fate}`), part ? html("div", { class: "mcpsim-quiet" }, part) : null),
          html("td", { dir: "auto" }, ...prose(step.what), ...findingsAt(this.data, step).map(finding)),
        ),
      );
    }
    this.more.hidden = this.tableRows.rows.length >= limit;
  }

  markTable() {
    if (this.hiding) {
      while (this.tableRows.rows.length > this.cursor) this.tableRows.lastChild.remove();
    }
    if (this.tableRows.rows.length < this.cursor) this.addTableRows(this.cursor - this.tableRows.rows.length + 50);
    for (const row of this.tableRows.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
    const row = this.tableRows.rows[this.cursor - 1];
    if (!row) return;
    row.setAttribute("aria-current", "step");
    row.scrollIntoView({ block: "nearest" });
  }
}

export default { initialize, render };
