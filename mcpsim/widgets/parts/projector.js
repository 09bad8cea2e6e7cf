// Projector: the player fills the screen, with one message at a time in large type.
//
// Full screen where the browser allows it, otherwise the top layer of the page (a popover), which nothing in a
// notebook can cover or cut.

const STAGE_WIDTH = 1200;
const STAGE_HEIGHT = 270;
// How small the type may become before a text is scrolled.
const SMALLEST_TYPE = 0.5;

class Projector {
  static KEYS = [
    ["p", "projector: large type, one message at a time; Esc leaves it"],
    ["j", "on the projector: the message itself"],
  ];

  constructor(view) {
    this.view = view;
    this.on = false;
    this.json = false;
    this.changed = () => {
      // The browser's own Escape leaves the full screen, and with it the projector.
      if (this.on && this.full && document.fullscreenElement !== view.root) this.leave();
    };
    this.sized = () => this.on && this.fit();
    document.addEventListener("fullscreenchange", this.changed);
    window.addEventListener("resize", this.sized);
  }

  remove() {
    if (this.on) this.leave();
    document.removeEventListener("fullscreenchange", this.changed);
    window.removeEventListener("resize", this.sized);
  }

  menu() {
    return this.view.behind ? [] : [["Projector", () => this.toggle(), this.on]];
  }

  onKey(event) {
    if (event.altKey) return false;
    if (event.key === "p") this.toggle();
    else if (event.key === "j" && this.on) this.toggleMessage();
    else return false;
    return true;
  }

  onEscape() {
    if (!this.on) return false;
    this.leave();
    return true;
  }

  bar() {
    this.picture = html("div", { class: "mcpsim-stage-picture", "aria-hidden": "true" });
    this.jsonButton = this.view.toggle("Message", () => this.toggleMessage(), this.json);
    this.jsonButton.title = "The message itself (j)";
    const leave = html("button", { type: "button", title: "Leave the projector (Esc)" }, "Leave");
    leave.setAttribute("aria-label", "Leave the projector");
    leave.addEventListener("click", () => this.leave());
    this.buttons = html("div", { class: "mcpsim-stage-buttons" }, this.jsonButton, leave);
    this.title = html("p", { class: "mcpsim-stage-title", dir: "auto" });
    this.stage = html("div", { class: "mcpsim-stage", hidden: !this.on }, this.title, this.buttons, this.picture);
    return this.stage;
  }

  built() {
    this.title.textContent = this.view.data.title;
    this.root.classList.toggle("mcpsim-projecting", this.on);
    this.root.classList.toggle("mcpsim-projecting-message", this.on && this.json);
  }

  get root() {
    return this.view.root;
  }

  toggle() {
    if (this.on) this.leave();
    else this.enter();
  }

  async enter() {
    this.on = true;
    this.show();
    this.root.focus({ preventScroll: true });
    try {
      await this.root.requestFullscreen();
      this.full = true;
      // It may have been left while the browser was asked.
      if (!this.on) document.exitFullscreen();
    } catch {
      this.full = false;
      if (this.on && this.root.showPopover) {
        this.root.setAttribute("popover", "manual");
        this.root.showPopover();
      }
    }
    this.fit();
  }

  leave() {
    this.on = false;
    if (this.full && document.fullscreenElement === this.root) document.exitFullscreen();
    this.full = false;
    if (this.root.hasAttribute("popover")) {
      this.root.hidePopover();
      this.root.removeAttribute("popover");
    }
    this.show();
    this.view.diagram.resize();
    this.view.diagram.scrollToCursor(true);
    this.view.diagram.draw();
    this.root.focus({ preventScroll: true });
  }

  toggleMessage() {
    this.json = !this.json;
    this.jsonButton.setAttribute("aria-pressed", String(this.json));
    this.show();
  }

  show() {
    this.root.classList.toggle("mcpsim-projecting", this.on);
    this.root.classList.toggle("mcpsim-projecting-message", this.on && this.json);
    this.stage.hidden = !this.on;
    if (!this.on) {
      this.root.style.removeProperty("--type");
      return;
    }
    this.draw(this.view.data.steps[this.view.cursor - 1]);
    this.fit();
  }

  moved(step) {
    if (!this.on) return;
    this.draw(step);
    this.fit();
  }

  piecesCame() {
    if (this.absent) this.moved(this.view.data.steps[this.view.cursor - 1]);
  }

  // Make the type smaller until everything is on the screen.
  fit() {
    if (!this.on) return;
    for (let type = 1; ; type -= 0.05) {
      this.root.style.setProperty("--type", type.toFixed(2));
      if (type <= SMALLEST_TYPE || this.root.scrollHeight <= this.root.clientHeight) return;
    }
  }

  draw(step) {
    this.absent = Boolean(step && step.coming);
    const parties = this.view.data.parties;
    const gap = STAGE_WIDTH / Math.max(1, parties.length);
    const at = new Map(parties.map((party, i) => [party, gap * (i + 0.5)]));
    const box = svg("svg", { viewBox: `0 0 ${STAGE_WIDTH} ${STAGE_HEIGHT}`, class: "mcpsim-stage-drawing" });
    const shown = step ? [step.from, step.to] : [];
    for (const [party, x] of at) {
      const width = Math.min(gap - 12, 250);
      const taking = shown.includes(party) ? " taking" : "";
      // Who is no party of the protocol stands on a dashed lane, here as in the diagram.
      const aside = this.view.data.beside.includes(party) ? " beside" : "";
      box.append(
        svg("line", { x1: x, y1: 50, x2: x, y2: STAGE_HEIGHT, class: `mcpsim-stage-line${aside}` }),
        svg("rect", { x: x - width / 2, y: 6, width, height: 44, rx: 8, class: `mcpsim-stage-lane${taking}${aside}` }),
        this.words(x, 36, party, width - 16, "mcpsim-stage-name"),
      );
    }
    if (step) box.append(this.arrow(step, at));
    this.picture.replaceChildren(box);
  }

  arrow(step, at) {
    const kind = step.kind;
    const group = svg("g", { class: `mcpsim-stage-arrow mcpsim-arrow mcpsim-k-${kind} current` });
    const [x1, end] = [at.get(step.from), at.get(step.to)];
    const y = 165;
    const label = [NAMED.has(kind) ? `${KINDS[kind]}:` : "", step.label].filter(Boolean).join(" ");
    const tags = [
      step.fate === "dropped" ? "lost" : "",
      step.fate === "in flight" ? "not arrived" : "",
      step.copy_of ? `copy of ${step.copy_of}` : "",
      step.changed ? "changed on the way" : "",
    ].filter(Boolean);
    const middle = x1 === undefined ? STAGE_WIDTH / 2 : end === undefined || end === x1 ? x1 : (x1 + end) / 2;
    if (x1 !== undefined && end !== undefined && end !== x1) {
      const side = Math.sign(end - x1);
      const part = { delivered: 1, dropped: 0.62 }[step.fate] ?? 0.8;
      const x2 = x1 + (end - x1) * part - (part === 1 ? 6 * side : 0);
      group.append(svg("line", { x1, y1: y, x2, y2: y, class: "shaft" }));
      const head = step.fate === "delivered" ? arrowHead(kind, 0, 0, side, 0) : step.fate === "dropped" ? cross(0, 0) : null;
      // Three times as large as in the diagram, with lines of the same kind.
      if (head) group.append(svg("g", { transform: `translate(${x2} ${y}) scale(2.6)` }, head));
      else group.append(svg("text", { x: x2, y: y + 8, "text-anchor": "middle", class: "mcpsim-stage-label" }, "…"));
      group.append(svg("circle", { cx: x1, cy: y, r: 8, class: "start" }));
    } else {
      group.append(svg("circle", { cx: middle, cy: y, r: 11, class: "start" }));
    }
    const centre = clamp(middle, STAGE_WIDTH * 0.32, STAGE_WIDTH * 0.68);
    group.append(this.words(centre, y - 44, label, STAGE_WIDTH * 0.62, "mcpsim-stage-label"));
    const more = [step.gist, ...tags.map((tag) => `[${tag}]`)].filter(Boolean).join("  ");
    if (more) group.append(this.words(centre, y + 58, more, STAGE_WIDTH * 0.62, "mcpsim-stage-gist"));
    return group;
  }

  // A text that is cut where there is no more room: about as wide as its characters at this size.
  words(x, y, text, room, name) {
    const size = { "mcpsim-stage-name": 13, "mcpsim-stage-label": 17, "mcpsim-stage-gist": 13 }[name];
    const most = Math.max(4, Math.floor(room / size));
    const letters = [...text];
    const shown = letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
    return svg("text", { x, y, "text-anchor": "middle", class: name }, shown);
  }
}
