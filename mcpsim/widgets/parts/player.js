// The player: steps through a recording that is already here, message by message.
//
// The model holds what all views share: `data` (as mcpsim.widgets.view.player_data describes it), `cursor`
// (0 is before the first step), `playing` and `speed`. What belongs to one view alone stays in that view.
//
// What a view can do beyond stepping is a feature: a class of its own in a file of its own, made once for each
// view with the view as its argument, and named in features.js. All of these are optional:
//   static KEYS   [key, what it does] pairs for the help
//   onKey(event)  true where it took the key
//   onEscape()    true where there was something to leave
//   menu()        entries of the menu: [label, action], or [label, action, pressed]
//   tools()       nodes for the header
//   bar()         a node below the controls
//   tab()         one more pane: its name, its label, and show(step, cursor), which gives its nodes
//   hides(step)   true where a step is not to be in the picture or the table
//   classes(step) more classes for the row and the arrow of a step
//   skips(step)   the same, and the picture closes up, and one step on or back goes past it; whoever says other
//                 things about this than before calls view.rearrange()
//   tags(step)    more nodes in the row of a step
//   widens(step)  true where its label may go past the other lane, for what tags(step) gives
//   says(step)    the same in words, for whoever does not see the row
//   narrates(step) nodes in place of the narration, or null
//   built()       after the view was built, also for other data
//   moved(step, cursor)  after each move
//   piecesCame()  after more of a long recording has come: see pieces.js
//   kernelTold()  where there is something else to say of the kernel: see kernel.js
//   remove()      when the view goes

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

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
  ["Alt + 1, 2 …", "Message, Raw bytes, Memory, and what is beside them"],
  ["?", "this help; Esc closes it"],
];

// Where a step stands in what it belongs to. Of what is still to come nothing is told where that is hidden.
function partOf(data, step, hiding) {
  const thread = data.threads[step.thread];
  if (!thread) return "";
  if (thread.kind === "subscription") return `subscription ${thread.label.split(" ").pop()}`;
  const noun = { rounds: "round", pages: "page" }[thread.kind];
  return `${noun} ${step.part}${thread.parts && !hiding ? ` of ${thread.parts}` : ""}`;
}

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
    this.helping = false;
    // Why the run cannot be handled now; "" where it can.
    this.behind = "";
    this.root = html("div", { class: "mcpsim-ui mcpsim-player", role: "region", tabindex: "-1" });
    el.replaceChildren(this.root);
    this.kernel = new Kernel(model, () => {
      this.each("kernelTold");
      this.sayWhatStaysAway();
    });
    this.undo.push(() => this.kernel.remove());
    this.diagram = new Diagram(this);
    this.table = new Table(this);
    this.features = FEATURES.map((Feature) => new Feature(this));
    this.panes = new Panes(this);
    this.build();
    this.listen(model, "change:cursor", () => this.showCursor());
    this.listen(model, "change:playing", () => this.showPlaying());
    this.listen(model, "change:speed", () => this.showSpeed());
    this.listen(model, "change:data", () => this.build());
    this.listen(model, "msg:custom", (message) => this.pieceCame(message));
    const keys = (event) => this.onKey(event);
    this.root.addEventListener("keydown", keys);
    const sizes = new ResizeObserver(() => this.diagram.resize());
    sizes.observe(this.root);
    this.undo.push(() => sizes.disconnect());
  }

  listen(model, event, callback) {
    model.on(event, callback);
    this.undo.push(() => model.off(event, callback));
  }

  remove() {
    this.each("remove");
    for (const undo of this.undo) undo();
    this.undo = [];
    this.root.remove();
  }

  // What came is in the data already.
  pieceCame(message) {
    if (!message || !message.piece) return;
    const { piece, first, steps } = message;
    const step = this.data.steps[this.cursor - 1];
    if (piece === "steps") this.diagram.stepsCame();
    else if (piece === "rest") this.diagram.restCame();
    else {
      this.showFindings();
      this.diagram.renew((n) => this.data.steps[n - 1].pins);
    }
    if (this.lacking || (step && piece === "findings" && step.pins)) this.showStep(step);
    if (piece !== "steps" || (this.cursor >= first && this.cursor < first + steps.length)) this.panes.again();
    if (this.tabular) this.table.pieceCame();
    this.each("piecesCame");
  }

  // What each feature that has this method says.
  each(method, ...given) {
    return this.features.filter((one) => one[method]).map((one) => one[method](...given));
  }

  hides(step) {
    return this.each("hides", step).some(Boolean);
  }

  skips(step) {
    return this.each("skips", step).some(Boolean);
  }

  get data() {
    return opened(this.model.get("data"));
  }

  get last() {
    return this.data.steps.length;
  }

  get cursor() {
    return clamp(this.model.get("cursor"), 0, this.last);
  }

  go(step) {
    const cursor = clamp(Math.round(Number(step)) || 0, 0, this.last);
    // A change is shown when the model tells of it. Without one, the number field may still need it.
    if (cursor === this.model.get("cursor")) this.showCursor();
    this.model.set("cursor", cursor);
    if (this.model.get("playing")) this.model.set("playing", false);
    this.model.save_changes();
  }

  // One step on or back: past what is folded or filtered out.
  move(by) {
    let step = this.cursor + by;
    while (step >= 1 && step <= this.last && this.skips(this.data.steps[step - 1])) step += by;
    this.go(step > this.last ? this.cursor : step);
  }

  // After the last finding comes the first one again.
  nextFinding() {
    const pinned = this.data.steps.filter((step) => step.pins);
    if (this.data.audited === false) return this.say("The findings are left out here.");
    if (!pinned.length) {
      return this.say(isComing(this.data, "findings") ? "The findings are still on their way to this page." : "The audit has found nothing here.");
    }
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
    const typing = target.matches("input:not([type=range], [type=checkbox], [type=radio]), select, textarea");
    if (event.key === "Escape") {
      if (typing) this.root.focus();
      if (!typing && !this.helping && this.features.some((one) => one.onEscape && one.onEscape())) return this.handled(event);
      this.toggleHelp(false);
      return this.handled(event);
    }
    if (event.altKey) {
      // The key and not the character: with Alt some keyboards write other characters than digits.
      const tab = this.panes.names[Number(/^Digit([1-9])$/.exec(event.code)?.[1]) - 1];
      if (!tab) return;
      this.panes.select(tab);
      return this.handled(event);
    }
    if (typing) return event.stopPropagation();
    if (event.key === " " && target.matches("button, a, summary, input")) return;
    if (event.key.startsWith("Arrow") && target.matches("[role=tab], input[type=range]")) return;
    if (this.behind && this.takesFromBehind(event)) return this.handled(event);
    if (this.features.some((one) => one.onKey && one.onKey(event))) return this.handled(event);
    const moves = {
      Home: () => this.go(0),
      End: () => this.go(this.last),
      ArrowLeft: () => this.move(-1),
      ArrowRight: () => this.move(1),
      ArrowUp: () => this.cursor > 1 && this.move(-1),
      ArrowDown: () => this.move(1),
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
      if (inList && event.key !== "g") this.diagram.focusRow();
    } else {
      return;
    }
    this.handled(event);
  }

  // While something is before the run, its keys are not those of the run.
  takesFromBehind({ key }) {
    if (!["/", "q", "s", "p", "c", "C", "f", "h", "t", "g", " ", "+", "=", "-"].includes(key) && !/^[0-9]$/.test(key)) return false;
    this.say(this.behind);
    return true;
  }

  refuseBehind(event) {
    if (!this.behind || !event.target.closest("button[aria-disabled=true]")) return;
    this.handled(event);
    this.say(this.behind);
  }

  handled(event) {
    event.preventDefault();
    event.stopPropagation();
  }

  goTyped() {
    const wanted = Number(this.number.value);
    this.go(wanted);
    if (wanted >= 0 && wanted <= this.last) return;
    const last = this.last.toLocaleString("en");
    this.say(`There is no step ${wanted.toLocaleString("en")}: the steps go from 1 to ${last}, and 0 is before the first.`);
  }

  askStep(first) {
    this.number.value = first;
    this.number.focus();
    if (!first) this.number.select();
  }

  build() {
    const data = this.data;
    this.drawn = data;
    this.root.setAttribute("aria-label", `Player: ${data.title}`);
    this.root.style.setProperty("--run-height", `${data.height + 60}px`);
    this.root.replaceChildren(
      this.buildHeader(data),
      this.buildControls(),
      ...this.each("bar").filter(Boolean),
      this.buildHelp(),
      this.buildNarration(),
      html("div", { class: "mcpsim-body" }, this.diagram.build(data), this.table.build(), this.panes.build()),
    );
    this.diagram.element.hidden = this.tabular;
    this.each("built");
    this.diagram.resize();
    this.showPlaying();
    this.showSpeed();
    this.showCursor();
    if (this.tabular) this.table.draw();
  }

  buildHeader(data) {
    const transport = { stdio: "stdio", http: "Streamable HTTP" }[data.transport] || data.transport;
    const facts = [...data.eras, transport].filter(Boolean);
    this.hideButton = this.toggle("Hide next", () => this.toggleHiding(), this.hiding);
    this.hideButton.title = "Hide what comes next (h)";
    this.tableButton = this.toggle("Table", () => this.toggleTable(), this.tabular);
    this.findingsButton = html("button", { type: "button", title: "To the next finding (f)" });
    this.findingsButton.addEventListener("click", () => this.nextFinding());
    this.showFindings();
    this.helpButton = html("button", { type: "button", "aria-expanded": String(this.helping), title: "Help (?)" }, "?");
    this.helpButton.setAttribute("aria-label", "Help: keys and shapes");
    this.helpButton.addEventListener("click", () => this.toggleHelp());
    const header = html(
      "div",
      { class: "mcpsim-header" },
      html("strong", { class: "mcpsim-title", dir: "auto" }, data.title),
      html("span", { class: "mcpsim-facts" }, ...facts.map((fact) => html("span", { class: "mcpsim-fact" }, fact))),
      html(
        "span",
        { class: "mcpsim-tools" },
        ...[this.findingsButton, ...this.each("tools").flat(), this.hideButton, this.tableButton, this.helpButton].filter(Boolean),
      ),
    );
    header.addEventListener("click", (event) => this.refuseBehind(event), true);
    return header;
  }

  showFindings() {
    const { length } = this.data.findings;
    const count = `${length.toLocaleString("en")} finding${length === 1 ? "" : "s"}`;
    this.findingsButton.hidden = !length;
    this.findingsButton.replaceChildren(count);
    this.findingsButton.setAttribute("aria-label", `${count} of the audit: to the next one`);
  }

  toggle(label, action, pressed = false) {
    const button = html("button", { type: "button", "aria-pressed": String(pressed) }, label);
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
    this.number.addEventListener("change", () => this.goTyped());
    this.number.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      this.goTyped();
      this.diagram.focusRow();
      this.handled(event);
    });
    this.number.addEventListener("blur", () => (this.number.value = this.cursor));
    this.speed = html("select", { "aria-label": "Speed" });
    this.speed.addEventListener("change", () => this.setSpeed(Number(this.speed.value)));
    return html(
      "div",
      { class: "mcpsim-controls", role: "group", "aria-label": "Controls" },
      button("first", "First", "Home", () => this.go(0)),
      button("back", "Back", "←", () => this.move(-1)),
      this.playButton,
      button("forward", "Forward", "→", () => this.move(1)),
      button("last", "Last", "End", () => this.go(this.last)),
      this.range,
      html("label", { class: "mcpsim-goto" }, "Step ", this.number, ` of ${this.last.toLocaleString("en")}`),
      html("label", {}, html("span", { class: "mcpsim-speed-word" }, "Speed "), this.speed),
    );
  }

  buildHelp() {
    const all = [...KEYS, ...FEATURES.flatMap((Feature) => Feature.KEYS || [])];
    const keys = all.map(([key, text]) => html("div", {}, html("kbd", {}, key), html("span", {}, text)));
    const shapes = Object.entries(KINDS).map(([kind, text]) => html("div", {}, mark(kind), html("span", {}, text)));
    const bars = Object.entries(BARS).map(([kind, text]) => html("div", {}, barMark(kind), html("span", {}, text)));
    this.help = html(
      "div",
      { class: "mcpsim-help", hidden: !this.helping },
      html("div", {}, html("strong", {}, "Keys"), html("div", { class: "mcpsim-columns" }, ...keys)),
      html("div", {}, html("strong", {}, "Shapes"), html("div", { class: "mcpsim-columns" }, ...shapes)),
      html("div", { class: "mcpsim-bars-help" }, html("strong", {}, "What goes on for a while"), ...bars),
      html(
        "p",
        {},
        "Time runs downwards. An arrow leans because the message takes time; a cross is a message that got ",
        "lost. A dot before the number of a step: it belongs to the step at hand, to the same request, rounds, pages or ",
        "subscription. Whoever stands on a dashed lane is no party of MCP: a user or a host, shown where a client asks it. ",
        "To scale, the same time has the same height; where the axis is broken, it is not so.",
      ),
    );
    return this.help;
  }

  buildNarration() {
    this.where = html("p", { class: "mcpsim-where" });
    // Not dir="auto": a sentence that begins with a name is still English, and says who sends to whom.
    this.what = html("p", { class: "mcpsim-what", dir: "ltr" });
    this.rule = html("p", { class: "mcpsim-rule" });
    this.found = html("div", { class: "mcpsim-found" });
    const live = { class: "mcpsim-narration", "aria-live": "polite", "aria-atomic": "true" };
    return html("div", live, this.where, this.what, this.rule, this.found);
  }

  toggleHelp(open = this.help.hidden) {
    this.helping = open;
    this.help.hidden = !open;
    this.helpButton.setAttribute("aria-expanded", String(open));
  }

  toggleHiding() {
    this.hiding = !this.hiding;
    this.hideButton.setAttribute("aria-pressed", String(this.hiding));
    this.refresh();
    this.panes.again();
  }

  // Draw once more what depends on switches, and not on the cursor.
  refresh() {
    this.showNarration(this.cursor, this.data.steps[this.cursor - 1]);
    if (this.tabular) this.table.draw();
    else this.diagram.draw();
  }

  // The same where other steps are shown than before: the step at hand stays where it is on the screen.
  rearrange() {
    this.showNarration(this.cursor, this.data.steps[this.cursor - 1]);
    this.diagram.keepPlace(() => this.diagram.lanes && this.diagram.arrange());
    if (this.tabular) this.table.draw();
  }

  toggleTable() {
    this.tabular = !this.tabular;
    this.tableButton.setAttribute("aria-pressed", String(this.tabular));
    this.table.element.hidden = !this.tabular;
    this.diagram.element.hidden = this.tabular;
    if (this.tabular) this.table.draw();
    else {
      this.diagram.resize();
      this.diagram.scrollToCursor(true);
      this.diagram.draw();
    }
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

  showCursor() {
    // Other data came with this cursor, and are built next: the picture is still of those before.
    if (this.drawn !== this.data) return;
    const cursor = this.cursor;
    const step = this.data.steps[cursor - 1];
    this.range.value = cursor;
    if (document.activeElement !== this.number) this.number.value = cursor;
    this.showStep(step);
    this.panes.select(this.panes.tab);
    this.diagram.scrollToCursor();
    this.diagram.draw();
    this.diagram.animate(step);
    // The focus goes along: two rows that stand out would be two steps at hand.
    if (this.model.get("playing") && this.diagram.list.contains(document.activeElement)) this.diagram.focusRow();
    if (this.tabular) this.table.mark();
    this.each("moved", step, cursor);
    this.sayWhatStaysAway();
  }

  // Of a long recording, what had not come when the kernel was restarted does not come any more.
  sayWhatStaysAway() {
    if (this.kernel.gone && lacksBody(this.data.steps[this.cursor - 1])) this.say(KERNEL_GONE);
  }

  showStep(step) {
    const label = step && step.coming ? step.what : step?.label;
    this.range.setAttribute("aria-valuetext", step ? `${this.cursor}: ${label}` : "before the first step");
    this.showNarration(this.cursor, step);
  }

  showNarration(cursor, step) {
    this.lacking = Boolean(step && step.coming);
    const instead = this.each("narrates", step, cursor).find(Boolean);
    if (instead) {
      for (const line of [this.found, this.rule, this.what]) line.replaceChildren();
      return this.where.replaceChildren(...instead);
    }
    this.found.replaceChildren(...(step ? findingsOf(this.data, step) : []));
    if (!step) {
      const count = `${this.last.toLocaleString("en")} step${this.last === 1 ? "" : "s"}`;
      this.where.replaceChildren("Before the first step");
      this.what.replaceChildren(
        this.last ? `Nothing has happened yet. ${count} will follow.` : "Nothing happens in this recording.",
      );
      this.rule.replaceChildren(this.last ? "What do you expect to come first?" : "");
      return;
    }
    // Each name by itself: two names that are written from right to left would turn the arrow round.
    const route = [html("bdi", {}, step.from), ...(step.to ? [" → ", html("bdi", {}, step.to)] : [])];
    const part = partOf(this.data, step, this.hiding);
    const [text, url] = step.rule < 0 ? ["", ""] : this.data.texts[step.rule];
    const shown = [
      mark(step.kind),
      html("span", {}, `Step ${cursor} of ${this.last.toLocaleString("en")}`),
      html("span", { class: `mcpsim-kind mcpsim-k-${step.kind}` }, KINDS[step.kind] || step.kind),
      html("span", {}, ...route),
      html("span", {}, step.time),
      step.era ? html("span", { class: "mcpsim-fact" }, step.era) : null,
      step.connection ? html("span", { class: "mcpsim-fact" }, `connection ${step.connection}`) : null,
      part ? html("span", { class: "mcpsim-fact mcpsim-part" }, part) : null,
    ];
    this.where.replaceChildren(...shown.filter(Boolean));
    this.what.replaceChildren(...prose(step.what));
    this.rule.replaceChildren(...(text ? [html("b", {}, "Rule: "), ...prose(text), " ", specLink(url, { full: true })] : []));
  }
}
