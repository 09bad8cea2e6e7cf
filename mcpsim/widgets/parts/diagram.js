// The diagram of a player: lanes, arrows, bars, and a list of the messages over it. Only what is in view is drawn.

const AXIS_WIDTH = 92;
const LANE_MARGIN = 20;
// What stands beside the outermost lane, with its name.
const RAIL_MARGIN = 44;
// So wide is what is written between two lanes at most: with what it has to tell, and with its name and id alone.
const LABEL_MOST = 420;
const LABEL_LEAST = 200;
// So much of what the gaps between lanes need at least will do where that is all the room.
const GAP_TIGHT = 0.84;
const ROW_HEIGHT = 40;

// About as wide as the name of a lane is drawn.
function headWidth(party) {
  return Math.min(150, [...party].length * 8.6 + 32);
}

// Room for what goes from one lane to another, past those between them.
function widen(gaps, { low, high }, need) {
  const lack = need - gaps.slice(low, high).reduce((sum, gap) => sum + gap, 0);
  if (lack > 0) for (let i = low; i < high; i++) gaps[i] += lack / (high - low);
}

class Diagram {
  constructor(view) {
    this.view = view;
    this.scaled = false;
    // The steps that are drawn though they have not come yet.
    this.absent = new Set();
    this.clip = `mcpsim-clip-${Math.random().toString(36).slice(2)}`;
  }

  build(data) {
    this.rows = new Map();
    this.arrows = new Map();
    this.bars = new Map();
    this.waits = new Map();
    // Until it is known how wide it is, there is nothing to draw: the lanes were those of other data.
    this.width = 0;
    this.lanes = null;
    this.heads = html("div", { class: "mcpsim-heads", "aria-hidden": "true" });
    this.svg = svg("svg", { class: "mcpsim-drawing", "aria-hidden": "true" });
    this.lanesLayer = svg("g");
    this.barsLayer = svg("g", { "clip-path": `url(#${this.clip})` });
    this.arrowsLayer = svg("g");
    this.dot = svg("circle", { r: 5, class: "mcpsim-dot", visibility: "hidden" });
    this.waitsLayer = svg("g");
    // Where what comes is hidden, a bar must not tell how long it goes on.
    this.known = svg("rect", { x: 0, y: 0, width: "100%", height: "100%" });
    const clip = svg("clipPath", { id: this.clip }, this.known);
    this.svg.append(clip, this.lanesLayer, this.barsLayer, this.arrowsLayer, this.waitsLayer, this.dot);
    this.list = html("div", { class: "mcpsim-list", role: "listbox", "aria-label": "Messages" });
    this.canvas = html("div", { class: "mcpsim-canvas" }, this.heads, this.list, this.svg);
    this.element = html("div", { class: "mcpsim-diagram", role: "group", "aria-label": "Sequence diagram", "data-lm-suppress-shortcuts": "true" }, this.canvas);
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
    const { parties, beside } = this.view.data;
    this.measureBars();
    // The first name may stand above the times, but not above the scale.
    const left = Math.max(this.marginAt(parties[0]), headWidth(parties[0]) / 2 + (this.scaled ? 4 : 8 - AXIS_WIDTH));
    const right = Math.max(this.marginAt(parties[parties.length - 1]), headWidth(parties[parties.length - 1]) / 2 + 6);
    const around = AXIS_WIDTH + left + right;
    const gaps = this.gaps(width - around);
    const all = gaps.reduce((sum, gap) => sum + gap, 0);
    this.inner = Math.max(width, parties.length > 2 ? around + all : 0);
    let x = AXIS_WIDTH + left + (gaps.length ? 0 : Math.max(0, width - around) / 2);
    this.lanes = new Map(parties.map((party, i) => [party, (x += i ? gaps[i - 1] : 0)]));
    this.canvas.style.width = `${this.inner}px`;
    this.svg.setAttribute("width", this.inner);
    this.heads.replaceChildren(
      ...parties.map((party) => {
        const aside = beside.includes(party);
        const title = aside ? `${party}: not a party of MCP` : party;
        const head = html("bdi", { class: `mcpsim-lane${aside ? " mcpsim-beside" : ""}`, title }, party);
        head.style.left = `${this.lanes.get(party)}px`;
        return head;
      }),
    );
    if (this.inScale) this.heads.append(html("span", { class: "mcpsim-scale" }, this.scale()));
    this.beyond = [html("span", { class: "mcpsim-beyond before" }), html("span", { class: "mcpsim-beyond" })];
    this.heads.append(...this.beyond);
    this.arrange();
    this.scrollToCursor(true);
    this.draw();
  }

  // How far the lanes are from each other: as far as what is written between them needs. Where there is more room
  // than that, each gap has its part of it; where there is less, what tells more than name and id gives way.
  gaps(room) {
    const { parties, steps } = this.view.data;
    if (parties.length < 2) return [];
    const places = new Map(parties.map((party, i) => [party, i]));
    const least = parties.slice(1).map((party, i) => (headWidth(party) + headWidth(parties[i])) / 2 + 12);
    const most = [...least];
    const needs = new Map();
    const threads = new Set();
    for (const step of steps) {
      const ends = [places.get(step.from), places.get(step.to)];
      if (step.coming || ends.includes(undefined) || ends[0] === ends[1]) continue;
      const [low, high] = [Math.min(...ends), Math.max(...ends)];
      const need = needs.get(`${low} ${high}`) || { low, high, least: 0, most: 0 };
      // What can be folded has a sign for that at its first step.
      const folds = step.thread >= 0 && !threads.has(step.thread) ? 34 : 0;
      threads.add(step.thread);
      const bare = 56 + folds + step.short.length * 7.8;
      const full = 56 + folds + step.label.length * 7.8 + Math.min(26, step.gist.length) * 6.4 + (step.fate === "delivered" ? 0 : 80);
      need.least = Math.max(need.least, Math.min(LABEL_LEAST, bare));
      need.most = Math.max(need.most, Math.min(LABEL_MOST, full), need.least);
      needs.set(`${low} ${high}`, need);
    }
    for (const need of [...needs.values()].sort((a, b) => a.high - a.low - (b.high - b.low))) {
      widen(least, need, need.least);
      widen(most, need, need.most);
    }
    const [low, high] = [least, most].map((each) => each.reduce((sum, gap) => sum + gap, 0));
    if (parties.length === 2) return [Math.max(room, 40)];
    if (room >= high) return most.map((gap) => gap + (room - high) / most.length);
    const part = high > low ? clamp((room - low) / (high - low), 0, 1) : 0;
    // Better a little closer than a picture that scrolls sideways.
    if (room < low && room >= low * GAP_TIGHT) return least.map((gap) => (gap * room) / low);
    return least.map((gap, i) => gap + (most[i] - gap) * part);
  }

  // Which lanes are not in view: how many, and on which side.
  showBeyond() {
    const [start, end] = [this.element.scrollLeft, this.element.scrollLeft + this.element.clientWidth];
    // The numbers of the steps stay in view.
    this.canvas.style.setProperty("--scrolled", `${start}px`);
    const all = [...this.lanes.values()];
    const [before, after] = [all.filter((x) => x < start).length, all.filter((x) => x > end - 10).length];
    this.beyond[0].textContent = before ? `← ${before} more` : "";
    this.beyond[1].textContent = after ? `${after} more →` : "";
    this.beyond[0].style.left = `${start}px`;
    this.beyond[1].style.right = `${Math.max(0, this.inner - end)}px`;
  }

  // How many bars stand at each lane at most: on it, and beside it.
  measureBars() {
    this.deep = new Map(Object.entries(this.view.data.deep || {}));
    for (const bar of this.view.data.bars) {
      const deep = this.deep.get(bar.party) || { on: 0, beside: 0 };
      const place = RAILS.has(bar.kind) ? "beside" : "on";
      deep[place] = Math.max(deep[place], bar.depth + 1);
      this.deep.set(bar.party, deep);
    }
  }

  // The heights to scale of a long recording come after the others.
  get inScale() {
    return this.scaled && !isComing(this.view.data, "rest");
  }

  marginAt(party) {
    const deep = this.deep.get(party);
    return deep && deep.beside ? RAIL_MARGIN + deep.beside * RAIL_GAP : LANE_MARGIN;
  }

  // So long is a height, in words: to scale it says what the picture does.
  scale() {
    // A round time that is about as high as a step.
    const perPx = this.view.data.us_per_px;
    const power = 10 ** Math.floor(Math.log10(perPx * 60));
    const us = power * [5, 2, 1].find((each) => power * each <= perPx * 60);
    const time = us >= 1e6 ? `${+(us / 1e6).toPrecision(3)} s` : `${+(us / 1e3).toPrecision(3)} ms`;
    return `${time} = ${Math.round(us / perPx)} px`;
  }

  // Time to scale, or a row for each step. The step at hand stays where it is on the screen.
  setScaled(scaled) {
    this.scaled = scaled;
    this.width = 0;
    this.keepPlace(() => this.resize());
  }

  keepPlace(change) {
    const step = this.view.data.steps[this.view.cursor - 1];
    const seen = step && this.heights ? this.heights.of(step) - this.element.scrollTop : null;
    const inView = seen !== null && seen >= 0 && seen <= this.element.clientHeight;
    change();
    if (!this.heights) return;
    if (inView) this.element.scrollTop = this.heights.of(step) - seen;
    else this.scrollToCursor(true);
    this.draw();
  }

  // Give everything its height once more: another way, or other steps that are not shown.
  arrange() {
    const data = this.view.data;
    const cursor = this.view.cursor;
    this.exempt = 0;
    this.hidden = new Set();
    for (const step of data.steps) {
      if (!this.view.skips(step)) continue;
      // The step at hand is always there.
      if (step.n === cursor) this.exempt = cursor;
      else this.hidden.add(step.n);
    }
    this.heights = new Heights(data, this.inScale, this.hidden);
    const shown = this.hidden.size ? data.steps.filter((step) => !this.hidden.has(step.n)) : data.steps;
    this.stepSpans = new Spans(shown, (step) => [this.top(step), this.bottom(step)]);
    this.spanBars();
    const height = this.heights.total;
    this.list.style.height = `${height}px`;
    this.svg.setAttribute("height", height);
    const lifeline = ([party, x]) => {
      const aside = this.view.data.beside.includes(party) ? " mcpsim-beside" : "";
      return svg("line", { x1: x, y1: 0, x2: x, y2: height, class: `mcpsim-lifeline${aside}` });
    };
    this.lanesLayer.replaceChildren(...[...this.lanes].map(lifeline));
    if (this.inScale) this.lanesLayer.append(svg("line", { x1: AXIS_WIDTH + 3, y1: 0, x2: AXIS_WIDTH + 3, y2: height, class: "mcpsim-axis" }));
    for (const layer of [this.arrowsLayer, this.list]) layer.replaceChildren();
    for (const nodes of [this.rows, this.arrows, this.absent]) nodes.clear();
  }

  spanBars() {
    const data = this.view.data;
    this.barSpans = new Spans(
      data.bars.map((bar, i) => [bar, i]),
      ([bar]) => this.heights.bar(bar),
    );
    const waits = this.inScale ? data.breaks : data.waits;
    this.waitSpans = new Spans(
      waits.map((wait, i) => [wait, i]),
      ([wait]) => [this.heights.at(wait.top) - 12, this.heights.at(wait.bottom) + 12],
    );
    for (const layer of [this.barsLayer, this.waitsLayer]) layer.replaceChildren();
    for (const nodes of [this.bars, this.waits]) nodes.clear();
  }

  // Draw some of the steps in view once more: what they say has changed. The focus stays where it is.
  renew(changed) {
    const focused = this.list.contains(document.activeElement);
    for (const [n, row] of this.rows) {
      if (!changed(n)) continue;
      row.remove();
      this.arrows.get(n)?.remove();
      for (const nodes of [this.rows, this.arrows, this.absent]) nodes.delete(n);
    }
    this.draw();
    if (focused && !this.list.contains(document.activeElement)) this.focusRow();
  }

  stepsCame() {
    this.renew((n) => this.absent.has(n) && !this.view.data.steps[n - 1].coming);
  }

  restCame() {
    if (!this.lanes) return;
    if (this.scaled) this.setScaled(true);
    else {
      this.spanBars();
      this.draw();
    }
  }

  drawWait(wait) {
    const at = (y) => this.heights.at(y);
    const group = svg("g", { class: "mcpsim-wait" });
    if (this.inScale) {
      const line = { x1: AXIS_WIDTH + 3, y1: at(wait.top), x2: AXIS_WIDTH + 3, y2: at(wait.bottom) };
      group.append(svg("line", { ...line, class: "gap" }), svg("line", { ...line, class: "loose" }));
    }
    if (wait.text) {
      const y = at(wait.y);
      group.append(
        svg("line", { x1: AXIS_WIDTH, y1: y, x2: this.inner - 12, y2: y }),
        // At the axis: arrows under way and their labels stand between the lanes.
        svg("text", { x: 8, y: y + 4 }, `⋮ ${wait.text}`),
      );
    }
    return group;
  }

  // Where the arrow of a step begins and ends; null for a step without one.
  ends(step) {
    if (!step.to || !this.lanes) return null;
    const [from, to] = [this.lanes.get(step.from), this.lanes.get(step.to)];
    if (from === undefined || to === undefined || from === to) return null;
    const side = Math.sign(to - from);
    const y1 = this.heights.of(step);
    const y2 = this.heights.end(step) ?? y1 + 14;
    if (step.fate === "delivered") return { x1: from, y1, x2: to - side * 5, y2, side };
    const part = step.fate === "dropped" ? 0.62 : 0.8;
    return { x1: from, y1, x2: from + (to - from) * part, y2, side };
  }

  top(step) {
    return this.heights.of(step) - LABEL_HEIGHT;
  }

  bottom(step) {
    return Math.max(this.heights.of(step) + ROW_HEIGHT, this.heights.end(step) ?? 0) + 12;
  }

  draw() {
    if (!this.lanes || this.view.tabular) return;
    const cursor = this.view.cursor;
    if (this.hidden.has(cursor) || (this.exempt && this.exempt !== cursor)) this.arrange();
    this.showBeyond();
    const top = this.element.scrollTop - 200;
    const bottom = top + this.element.clientHeight + 400;
    const current = this.view.data.steps[cursor - 1];
    const seen = this.stepSpans.within(top, bottom).filter((step) => !this.view.hides(step));
    const wanted = new Set(seen.map((step) => step.n));
    // The row that has the focus stays, wherever the view is scrolled to.
    if (current) wanted.add(cursor);
    const first = this.stepSpans.short[0]?.item.n ?? 1;
    if (!current && this.view.last) wanted.add(first);
    this.keepOnly(this.rows, wanted);
    this.keepOnly(this.arrows, wanted);
    if (seen.some((step) => step.coming)) {
      const numbers = seen.map((step) => step.n);
      lookAt(this.view.data, Math.min(...numbers), Math.max(...numbers));
    }
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
      row.tabIndex = n === cursor || (!cursor && n === first) ? 0 : -1;
      // The mark beside the number is a shape; whoever does not see it hears of it.
      const more = [kin ? `belongs to step ${cursor}` : "", ...this.view.each("says", step)].filter(Boolean).join(", ");
      if (more) row.setAttribute("aria-description", more);
      else row.removeAttribute("aria-description");
      row.inert = when === "future" && this.view.hiding;
      this.arrows.get(n).setAttribute("class", `mcpsim-arrow ${classes.join(" ")}`);
    }
    // Where no row can have the focus, all of it can: whoever has no mouse scrolls it too. Its keys are marked
    // from the start; see `html`.
    if ([...this.rows.values()].some((row) => row.tabIndex === 0 && !row.inert)) this.element.removeAttribute("tabindex");
    else this.element.tabIndex = 0;
    if (current) this.arrowsLayer.append(this.arrows.get(cursor));
    this.drawBars(top, bottom, cursor);
    this.drawWaits(top, bottom, current);
    this.known.setAttribute("height", this.view.hiding ? (current ? this.heights.of(current) + 10 : 0) : this.heights.total);
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
      ...apart(
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
      ),
    );
    const space = 12;
    if (ends) {
      const to = this.lanes.get(step.to);
      // A flag says enough: what it stands for is in its title, and beside the diagram.
      const flag = label.querySelector(".mcpsim-pin");
      const needs = 56 + this.labelFor(step, ends).length * 7.6 + label.querySelectorAll(".mcpsim-tag").length * 90;
      const across = Math.abs(to - from) - 2 * space;
      label.classList.toggle("mcpsim-tight", Boolean(flag) && needs > across);
      if (flag && needs + (step.gist ? 26 : 0) + flag.textContent.length * 6.5 > across) {
        flag.classList.add("mcpsim-pin-bare");
        flag.title = flag.textContent;
      }
      // What stands for more than itself says so, beyond the other lane if need be.
      const wide = this.view.each("widens", step).some(Boolean);
      const room = ends.side < 0 ? from - AXIS_WIDTH + space : this.inner - from;
      label.style.maxWidth = `${(wide ? room : Math.abs(to - from)) - 2 * space}px`;
      label.classList.toggle("mcpsim-wide", wide);
      if (ends.side < 0) label.style.right = `${this.inner - from + space}px`;
      else label.style.left = `${from + space}px`;
    } else {
      // Beside the lane: what is on it, such as a bar and the cross where that was stopped, is not under the box.
      const before = from - AXIS_WIDTH > this.inner - from;
      label.style[before ? "right" : "left"] = `${before ? this.inner - from + space : from + space}px`;
      const room = before ? from - AXIS_WIDTH - space : this.inner - from - 2 * space;
      label.style.maxWidth = `${room}px`;
      label.classList.add("mcpsim-boxed");
      // A row has room for a second line: both are about as long.
      if (!step.gist && step.label.length * 7 + 40 > room) {
        label.classList.add("mcpsim-two");
        label.style.maxWidth = `${Math.min(room, step.label.length * 4.2 + 64)}px`;
      }
    }
    const row = html(
      "div",
      { role: "option", "data-step": step.n, "aria-posinset": step.n, "aria-setsize": this.view.last },
      ...apart(html("span", { class: "mcpsim-number" }, step.n), label, html("span", { class: "mcpsim-time" }, step.time)),
    );
    // A row that stands for several has no room for more about its first message.
    if (label.classList.contains("mcpsim-wide")) label.querySelector(".mcpsim-gist")?.remove();
    // What is seen comes first and as it is: whoever speaks to the computer says what he sees.
    const seen = label.textContent.trim();
    const kind = NAMED.has(step.kind) ? KINDS[step.kind] : "";
    const full = seen.startsWith(step.label) ? "" : step.label;
    const route = step.to ? `${step.from} to ${step.to}` : step.from;
    const said = [`${step.n}: ${seen}, ${step.time}`, [kind, full].filter(Boolean).join(" "), route];
    row.setAttribute("aria-label", said.filter(Boolean).join(", "));
    row.style.top = `${this.top(step)}px`;
    const after = [...this.rows.keys()].filter((n) => n > step.n);
    this.list.insertBefore(row, after.length ? this.rows.get(Math.min(...after)) : null);
    this.rows.set(step.n, row);
    if (step.coming) this.absent.add(step.n);
  }

  // The full label where it has room, with some of what it is about, and the short one elsewhere: about 7.5
  // pixels for a character.
  labelFor(step, ends) {
    const room = ends ? Math.abs(this.lanes.get(step.to) - this.lanes.get(step.from)) - 52 : Infinity;
    return step.label.length * 7.5 + Math.min(8, step.gist.length) * 6.4 <= room ? step.label : step.short;
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
      group.append(svg("circle", { cx: x, cy: this.heights.of(step), r: 4, class: "start" }));
    }
    this.arrowsLayer.append(group);
    this.arrows.set(step.n, group);
  }

  drawBars(top, bottom, cursor) {
    const seen = this.barSpans.within(top, bottom);
    this.keepOnly(this.bars, new Set(seen.map(([, i]) => i)));
    for (const [bar, i] of seen) {
      if (!this.bars.has(i)) this.addBar(bar, i);
      const over = bar.until !== null && bar.until <= cursor;
      const when = bar.from > cursor ? "future" : over ? "past" : "current";
      const hidden = when === "future" && this.view.hiding ? " hidden" : "";
      this.bars.get(i).setAttribute("class", `mcpsim-bar mcpsim-b-${bar.kind} ${when}${hidden}`);
    }
  }

  addBar(bar, i) {
    const lane = this.lanes.get(bar.party) ?? AXIS_WIDTH;
    const parties = this.view.data.parties;
    // Messages go to the other side of the outermost lane.
    const outwards = parties.length > 1 && bar.party === parties[parties.length - 1] ? 1 : -1;
    const deep = this.deep.get(bar.party);
    const past = outwards > 0 ? 14 + 7 * Math.max(0, deep.on - 1) : 16;
    const x = RAILS.has(bar.kind) ? lane + outwards * (past + bar.depth * RAIL_GAP) : lane - BAR_WIDTH / 2 + bar.depth * 7;
    // Of rails side by side only the last has room for its name.
    const isOutermost = bar.party === parties[0] || bar.party === parties[parties.length - 1];
    const node = barNode(bar, x, outwards, this.heights.bar(bar), this.heights, isOutermost && bar.depth + 1 === deep.beside);
    this.barsLayer.append(node);
    this.bars.set(i, node);
  }

  drawWaits(top, bottom, current) {
    const now = current ? (this.inScale ? current.scaled : current.y) : 0;
    const known = ([wait]) => !this.view.hiding || wait.bottom <= now;
    const seen = this.waitSpans.within(top, bottom).filter(known);
    this.keepOnly(this.waits, new Set(seen.map(([, i]) => i)));
    for (const [wait, i] of seen) {
      if (this.waits.has(i)) continue;
      const node = this.drawWait(wait);
      this.waitsLayer.append(node);
      this.waits.set(i, node);
    }
  }

  scrollToCursor(atOnce = false) {
    const step = this.view.data.steps[this.view.cursor - 1];
    const height = this.element.clientHeight;
    if (!height || !this.heights) return;
    this.scrollSideways(step);
    const y = step ? this.heights.of(step) : 0;
    const seen = y - this.element.scrollTop;
    if (!atOnce && seen > height * 0.2 && seen < height * 0.7) return;
    const top = Math.max(0, y - height * 0.4);
    const near = Math.abs(top - this.element.scrollTop) < 2 * height;
    this.element.scrollTo({ top, behavior: !atOnce && near && !calm() ? "smooth" : "instant" });
  }

  // Both ends of the arrow at hand are in view, if they have room.
  scrollSideways(step) {
    const width = this.element.clientWidth;
    if (!step || this.inner <= width) return;
    const ends = [this.lanes.get(step.from), this.lanes.get(step.to)].filter((x) => x !== undefined);
    if (!ends.length) return;
    const [low, high] = [Math.min(...ends) - 24, Math.max(...ends) + 60];
    const left = this.element.scrollLeft;
    if (low >= left && high <= left + width) return;
    this.element.scrollLeft = high <= width ? 0 : Math.min(low, Math.max(left, high - width));
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
