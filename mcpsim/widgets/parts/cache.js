// The cache timeline: a lane for each request that can be kept, over virtual time.

function renderCache({ model, el }) {
  const view = new CacheView(model, el, "cache");
  return () => view.remove();
}

const CACHE_SIGNS = { own: "●", shared: "◐", gateway: "◆", server: "▲", nobody: "✗" };

class CacheView extends ActingView {
  build() {
    this.moment = 0;
    this.controls = new Map();
    this.about = html("span", { class: "mcpsim-acting-quiet" });
    const knobs = this.shown.knobs.map((knob) => this.knob(knob));
    this.slider = html("input", { type: "range", min: 0, step: 1, class: "mcpsim-cache-slider" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.back = this.button("Back", () => this.go(this.moment - 1));
    this.next = this.button("Next", () => this.go(this.moment + 1), { class: "mcpsim-acting-main" });
    this.lanes = html("div", { class: "mcpsim-cache-lanes" });
    this.legend = html("p", { class: "mcpsim-cache-legend" });
    this.now = html("ul", { class: "mcpsim-cache-now", "aria-label": "What is kept at this moment" });
    this.table = html("table", {}, html("caption", {}, "Everything that happened, in order"));
    const summary = html("summary", {}, "The same as a table");
    this.root.append(
      ...[
        this.head(this.about),
        knobs.length ? html("div", { class: "mcpsim-acting-tools", role: "group", "aria-label": "Knobs" }, ...knobs) : null,
        this.error,
        scrollBox("The caches over virtual time", this.lanes),
        this.legend,
        html("div", { class: "mcpsim-acting-tools mcpsim-cache-scrub" }, this.back, this.next, this.field("Moment", this.slider)),
        this.status,
        this.busy,
        this.now,
        html("details", { class: "mcpsim-cache-table" }, summary, scrollBox("Everything that happened", this.table)),
        html("p", { class: "mcpsim-acting-notes" }, ...prose(this.shown.rules), ...this.shown.urls.flatMap((url) => [" ", specLink(url, { full: true })])),
      ].filter(Boolean),
    );
  }

  // ------------------------------------------------------------------------------------- knobs

  knob(knob) {
    const make = {
      choice: () => this.select(knob.choices),
      number: () => html("input", { type: "number", min: knob.low, max: knob.high, step: knob.step, class: "mcpsim-cache-number" }),
      switch: () => html("input", { type: "checkbox" }),
    };
    const control = make[knob.kind]();
    control.addEventListener("change", () => this.turn(knob, control));
    this.controls.set(knob.name, control);
    const more = [knob.unit, knob.hint].filter(Boolean).join(" ");
    return this.field(knob.label, control, more ? html("span", { class: "mcpsim-acting-quiet" }, more) : null);
  }

  turn(knob, control) {
    const stands = this.shown.knobs.find((one) => one.name === knob.name).value;
    let value = knob.kind === "switch" ? control.checked : control.value;
    if (knob.kind === "number") {
      value = control.value.trim() === "" ? stands : Math.round(clamp(Number(control.value), knob.low, knob.high));
      control.value = value;
    }
    if (value !== stands || this.waiting) this.ask({ do: "turn", settings: { [knob.name]: value } });
  }

  // ------------------------------------------------------------------------------------- what is seen

  show(shown) {
    this.about.textContent = shown.of || "Two people read a price, which changes after 20 s.";
    for (const { name, value } of shown.knobs) this.stand(this.controls.get(name), value);
    this.moment = clamp(this.moment, 0, shown.moments.length);
    this.slider.max = shown.moments.length;
    this.draw(shown);
    this.fillTable(shown);
    this.move();
  }

  place(at) {
    return `${((at / this.shown.end_us) * 100).toFixed(3)}%`;
  }

  draw(shown) {
    const axis = html("div", { class: "mcpsim-cache-axis", "aria-hidden": "true" }, ...shown.axis.map(([at, text]) => this.at(html("span", {}, text), at)));
    const lanes = shown.lanes.map((lane) =>
      html(
        "section",
        { class: "mcpsim-cache-lane", "aria-label": lane.label },
        html("h4", {}, html("bdi", {}, lane.label)),
        ...lane.rows.map((row) => this.row(row)),
      ),
    );
    const none = shown.lanes.length ? null : html("p", { class: "mcpsim-acting-notes" }, "Nothing in this recording can be kept.");
    const more = shown.more ? html("p", { class: "mcpsim-acting-notes" }, `… and ${shown.more} more requests.`) : null;
    this.lanes.replaceChildren(...[none, ...lanes, more, shown.lanes.length ? html("div", { class: "mcpsim-cache-row" }, html("span", { class: "mcpsim-cache-who" }, "Virtual time"), axis) : null].filter(Boolean));
    this.lines = [...this.lanes.querySelectorAll(".mcpsim-cache-line")];
    const sign = (name, text) => html("span", {}, html("b", { class: `mcpsim-cache-from-${name}`, "aria-hidden": "true" }, CACHE_SIGNS[name]), ` from ${text}`);
    const swatch = (kind, text) => html("span", {}, html("i", { class: `mcpsim-cache-swatch mcpsim-cache-${kind}`, "aria-hidden": "true" }), ` ${text}`);
    const may = shown.imported ? "may be kept: " : "";
    const goesOn = shown.lanes.some((lane) => lane.rows.some((row) => row.bars.some((bar) => bar.goes_on)));
    const beyond = goesOn ? html("span", {}, "→ fresh until then, beyond the end of the picture") : "";
    this.legend.replaceChildren(...shown.sources.map(([name, text]) => sign(name, text)), swatch("fresh", `${may}fresh`), swatch("stale", "stale"), beyond, ...shown.marks.map(([, text]) => swatch("dashed", text)));
  }

  at(node, at) {
    node.style.left = this.place(at);
    return node;
  }

  row(row) {
    const ticks = row.ticks.map((tick) => {
      const text = `${tick.at}: ${row.who} is served from ${(this.shown.sources.find(([name]) => name === tick.source) || ["", ""])[1]}${tick.text ? `, ${tick.text}` : ""}`;
      return this.at(html("span", { class: `mcpsim-cache-tick mcpsim-cache-from-${tick.source}`, title: text, "aria-hidden": "true" }, CACHE_SIGNS[tick.source]), tick.at_us);
    });
    const bars = row.bars.map((bar) => this.bar(bar));
    const marks = this.shown.marks.map(([at, text]) => this.at(html("span", { class: "mcpsim-cache-mark", title: text, "aria-hidden": "true" }), at));
    const line = html("span", { class: "mcpsim-cache-line", "aria-hidden": "true", hidden: true });
    const who = html("span", { class: "mcpsim-cache-who" }, html("bdi", {}, row.who), row.principal ? html("span", { class: "mcpsim-acting-quiet" }, ` ${row.principal}`) : null);
    const said = [
      ...row.ticks.map((tick) => `asked at ${tick.at}, from ${(this.shown.sources.find(([name]) => name === tick.source) || ["", ""])[1]}`),
      ...row.bars.map((bar) => `kept: ${bar.words}`),
    ];
    const note = row.note ? html("span", { class: "mcpsim-cache-note" }, row.note) : null;
    return html("div", { class: `mcpsim-cache-row mcpsim-cache-of-${row.kind}` }, who, said.length ? spoken(`${said.join("; ")}.`) : null, html("div", { class: "mcpsim-cache-track" }, ...marks, note, ...bars, ...ticks, line));
  }

  bar(bar) {
    const width = Math.max(bar.end_us - bar.start_us, 1);
    const fresh = html("span", { class: "mcpsim-cache-fresh" });
    fresh.style.width = `${(((bar.stale_us - bar.start_us) / width) * 100).toFixed(3)}%`;
    const why = bar.why_stale ? `, then ${bar.why_stale}` : `, until ${bar.fresh_until}`;
    const content = bar.content ? ` (${bar.content})` : "";
    // What tells one entry from the next comes first: in a short bar the rest has no room.
    const names = [bar.content, bar.scope].filter(Boolean).join(", ");
    const label = html("span", { class: "mcpsim-cache-label" }, `${names}${bar.goes_on ? ` → ${bar.fresh_until}` : ""}`);
    const kinds = [bar.kept ? "" : "mcpsim-cache-may", bar.end_us === this.shown.end_us ? "mcpsim-cache-last" : ""].join(" ");
    const node = html("span", { class: `mcpsim-cache-bar mcpsim-cache-stale ${kinds}`, title: `${bar.words}${why}${content}`, "aria-hidden": "true" }, fresh, label);
    node.style.width = this.place(width);
    return this.at(node, bar.start_us);
  }

  fillTable(shown) {
    const head = ["Virtual time", "Request", "What happened"].map((text) => html("th", { scope: "col" }, text));
    const rows = shown.moments.map((one) => html("tr", {}, html("th", { scope: "row" }, one.at), html("td", { dir: "auto" }, one.lane), html("td", { dir: "auto" }, one.text)));
    this.table.replaceChildren(this.table.caption, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
  }

  // ------------------------------------------------------------------------------------- scrubbing

  go(moment) {
    this.moment = clamp(moment, 0, this.shown.moments.length);
    this.move();
  }

  move() {
    const { moments } = this.shown;
    const now = moments[this.moment - 1];
    this.slider.value = this.moment;
    this.usable(this.back, this.moment > 0);
    this.usable(this.next, this.moment < moments.length);
    for (const line of this.lines) {
      line.hidden = !now;
      if (now) line.style.left = this.place(now.at_us);
    }
    const text = now ? `${now.at}${now.lane ? `, ${now.lane}` : ""}: ${now.text}` : "Move through the moments: with Next, or with the arrow keys on the slider.";
    this.slider.setAttribute("aria-valuetext", now ? text : "before the first");
    this.say(text);
    this.showKept(now);
  }

  // What every cache holds at this moment, and how fresh it is.
  showKept(now) {
    const kept = [];
    for (const lane of this.shown.lanes) {
      for (const row of lane.rows) {
        const bar = now && [...row.bars].reverse().find((one) => one.start_us <= now.at_us && now.at_us < one.end_us);
        if (bar) kept.push(this.kept(lane, row, bar, now));
      }
    }
    this.now.replaceChildren(...(kept.length ? kept : [html("li", { class: "mcpsim-acting-quiet" }, now ? "No cache holds anything." : "At the beginning no cache holds anything.")]));
  }

  kept(lane, row, bar, now) {
    const fresh = now.at_us < bar.stale_us;
    const state = fresh ? `fresh until ${bar.fresh_until}` : "stale";
    const content = bar.content ? ` (${bar.content})` : "";
    return html(
      "li",
      {},
      html("i", { class: `mcpsim-cache-swatch mcpsim-cache-${fresh ? "fresh" : "stale"}`, "aria-hidden": "true" }),
      " ",
      html("b", {}, html("bdi", {}, row.who)),
      bar.kept ? " keeps " : " may keep ",
      html("bdi", {}, lane.label),
      `${content}: ${bar.scope}, ${state}`,
    );
  }
}
