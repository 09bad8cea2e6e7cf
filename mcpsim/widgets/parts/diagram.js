// The diagram of a player: lanes, arrows, bars, and a list of the messages over it. Only what is in view is drawn.

const AXIS_WIDTH = 92;
const LANE_MARGIN = 56;
const LANE_GAP_MIN = 160;
const ROW_HEIGHT = 40;

class Diagram {
  constructor(view) {
    this.view = view;
  }

  build(data) {
    this.rows = new Map();
    this.arrows = new Map();
    this.bars = new Map();
    this.width = 0;
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
    this.element = html("div", { class: "mcpsim-diagram" }, this.canvas);
    if (data.left_out) {
      const text = `${data.left_out.toLocaleString("en")} more steps are in the recording and not shown here.`;
      this.canvas.append(html("p", { class: "mcpsim-left-out" }, text));
    }
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (!row) return;
      this.view.go(Number(row.dataset.step));
      this.focusRow();
    });
    this.element.addEventListener("scroll", () => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.draw());
    });
    this.view.undo.push(() => cancelAnimationFrame(this.frame));
    return this.element;
  }

  resize() {
    const width = this.element.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const parties = this.view.data.parties;
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
    const height = this.view.data.height;
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
    this.waitsLayer.replaceChildren(...this.view.data.waits.map((wait) => this.drawWait(wait)));
    this.barsLayer.replaceChildren();
    this.arrowsLayer.replaceChildren();
    this.list.replaceChildren();
    this.rows.clear();
    this.arrows.clear();
    this.bars = new Map();
    this.scrollToCursor(true);
    this.draw();
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

  draw() {
    if (!this.lanes || this.view.tabular) return;
    const top = this.element.scrollTop - 200;
    const bottom = top + this.element.clientHeight + 400;
    const cursor = this.view.cursor;
    const current = this.view.data.steps[cursor - 1];
    const wanted = new Set();
    for (const step of this.view.data.steps) {
      if (this.bottom(step) >= top && this.top(step) <= bottom && !this.view.hides(step)) wanted.add(step.n);
    }
    // The row that has the focus stays, wherever the view is scrolled to.
    if (current) wanted.add(cursor);
    else if (this.view.last) wanted.add(1);
    this.keepOnly(this.rows, wanted);
    this.keepOnly(this.arrows, wanted);
    for (const n of [...wanted].sort((a, b) => a - b)) {
      const step = this.view.data.steps[n - 1];
      if (!this.rows.has(n)) this.addRow(step);
      if (!this.arrows.has(n)) this.addArrow(step);
      const when = n < cursor ? "past" : n > cursor ? "future" : "current";
      const onTheWay = n < cursor && step.fate !== "dropped" && step.to && (step.arrives ?? Infinity) > cursor;
      const kin = when !== "current" && current && this.related(step, current);
      const classes = [`mcpsim-k-${step.kind}`, when];
      if (kin) classes.push("kin");
      if (onTheWay) classes.push("travelling");
      classes.push(...this.view.each("classes", step).flat());
      if (when === "future" && this.view.hiding) classes.push("hidden");
      const row = this.rows.get(n);
      row.className = `mcpsim-row ${classes.join(" ")}`;
      row.setAttribute("aria-selected", String(n === cursor));
      row.tabIndex = n === cursor || (!cursor && n === 1) ? 0 : -1;
      // The mark beside the number is a shape; whoever does not see it hears of it.
      if (kin) row.setAttribute("aria-description", `belongs to step ${cursor}`);
      else row.removeAttribute("aria-description");
      row.inert = when === "future" && this.view.hiding;
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
      ...findingsAt(this.view.data, step)
        .slice(0, 1)
        .map((one) => pin(one.level)),
      ...this.view.each("tags", step).flat(),
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
      { role: "option", "data-step": step.n, "aria-posinset": step.n, "aria-setsize": this.view.last },
      html("span", { class: "mcpsim-number" }, step.n),
      html("span", { class: "mcpsim-time" }, step.time),
      label,
    );
    const route = step.to ? `${step.from} to ${step.to}` : step.from;
    const lost = step.fate === "dropped" ? ", lost" : step.fate === "in flight" ? ", not arrived" : "";
    const kind = NAMED.has(step.kind) ? KINDS[step.kind] : "";
    const said = [kind, step.label, step.gist].filter(Boolean).join(" ");
    const worst = findingsAt(this.view.data, step)[0];
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
    this.view.data.bars.forEach((bar, i) => {
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
      const hidden = when === "future" && this.view.hiding ? " hidden" : "";
      node.setAttribute("class", `mcpsim-bar ${when}${hidden}`);
    });
  }

  scrollToCursor(atOnce = false) {
    const step = this.view.data.steps[this.view.cursor - 1];
    const height = this.element.clientHeight;
    if (!height) return;
    const y = step ? step.y : 0;
    const seen = y - this.element.scrollTop;
    if (!atOnce && seen > height * 0.2 && seen < height * 0.7) return;
    const top = Math.max(0, y - height * 0.4);
    const near = Math.abs(top - this.element.scrollTop) < 2 * height;
    this.element.scrollTo({ top, behavior: !atOnce && near && !calm() ? "smooth" : "instant" });
  }

  focusRow() {
    const row = this.rows.get(this.view.cursor || 1);
    if (row && !this.view.tabular) row.focus({ preventScroll: true });
    else this.view.root.focus({ preventScroll: true });
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
      { duration: 450 / Math.max(1, this.view.model.get("speed")), easing: "ease-in-out" },
    );
    this.flight.onfinish = () => this.dot.setAttribute("visibility", "hidden");
  }
}
