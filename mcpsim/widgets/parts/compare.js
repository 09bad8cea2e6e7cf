// Two recordings side by side: rows that are aligned, each with a message of the left, of the right, or of both.
//
// `Pairs` draws what mcpsim.widgets.compare_view gives. It stands alone as a widget (`renderComparison`), and in a
// player where a run was played again with a change.

const PAIR_HEIGHT = 50;
const PAIR_STATES = {
  same: ["=", "the same in both"],
  differs: ["≠", "differs"],
  only: ["◇", "only here"],
  moved: ["⇅", "in another order"],
};
const PAIR_KEYS = [
  ["← →", "along the rows"],
  ["Home, End", "to the first and the last row"],
  ["d", "to the next difference"],
];

class Pairs {
  // `moved` is called with the number of the row, from 1, when another one is chosen.
  constructor(moved = () => {}) {
    this.moved = moved;
    this.cursor = 1;
    this.data = null;
    this.element = html("div", { class: "mcpsim-pairs" });
    this.sizes = new ResizeObserver(() => this.draw());
  }

  remove() {
    this.sizes.disconnect();
    this.element.remove();
  }

  get last() {
    return this.data.rows.length;
  }

  set(data, cursor = 1) {
    this.data = data;
    this.cells = new Map();
    this.cursor = clamp(cursor, 1, Math.max(1, this.last));
    const id = `mcpsim-pairs-${Math.random().toString(36).slice(2)}`;
    this.list = html("div", { class: "mcpsim-pairs-list", role: "listbox", "aria-label": "Steps of both, aligned" });
    this.list.style.height = `${this.last * PAIR_HEIGHT}px`;
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.go(Number(row.dataset.row), true);
    });
    this.scroller = html("div", { class: "mcpsim-pairs-scroll" }, this.heads(), this.list);
    this.scroller.addEventListener("scroll", () => this.draw());
    this.sizes.disconnect();
    this.sizes.observe(this.scroller);
    const button = (label, key, action) => {
      const made = html("button", { type: "button", title: `${label} (${key})` }, label);
      made.addEventListener("click", action);
      return made;
    };
    this.place = html("span", { class: "mcpsim-pairs-place" });
    this.next = button("Next difference", "d", () => this.nextDifference());
    const controls = html(
      "div",
      { class: "mcpsim-pairs-controls", role: "group", "aria-label": "Rows" },
      button("Back", "←", () => this.go(this.cursor - 1)),
      button("Forward", "→", () => this.go(this.cursor + 1)),
      this.next,
      this.place,
      html("span", { class: "mcpsim-pairs-legend" }, ...Object.entries(PAIR_STATES).map(([state, [, text]]) => this.badge(state, text))),
    );
    this.told = html("div", { class: "mcpsim-pairs-told", id, "aria-live": "polite", "aria-atomic": "true" });
    this.bodies = html("div", { class: "mcpsim-pairs-bodies" });
    this.element.replaceChildren(
      html("p", { class: "mcpsim-pairs-summary", dir: "auto" }, ...prose(data.summary)),
      ...(data.warning ? [html("p", { class: "mcpsim-pairs-warning", role: "alert" }, data.warning)] : []),
      controls,
      this.scroller,
      this.told,
      this.bodies,
    );
    this.show();
  }

  heads() {
    const head = (side, name) =>
      html(
        "div",
        { class: "mcpsim-pairs-head" },
        html("strong", {}, html("bdi", {}, name)),
        html(
          "div",
          { class: "mcpsim-pairs-lanes", "aria-hidden": "true" },
          ...side.parties.map((party, i) => {
            const lane = html("bdi", { title: party }, party);
            lane.style.left = `${this.x(side, i)}%`;
            return lane;
          }),
        ),
      );
    return html("div", { class: "mcpsim-pairs-heads" }, head(this.data.left, this.data.names[0]), html("span", {}), head(this.data.right, this.data.names[1]));
  }

  x(side, i) {
    return ((i + 0.5) * 100) / side.parties.length;
  }

  badge(state, text) {
    return html("span", { class: `mcpsim-pairs-badge mcpsim-pairs-${state}` }, html("span", { "aria-hidden": "true" }, PAIR_STATES[state][0]), ` ${text}`);
  }

  // Only the rows that are in view are there, and the one that is chosen.
  draw() {
    if (!this.data || !this.scroller.clientHeight) return;
    const from = Math.floor(this.scroller.scrollTop / PAIR_HEIGHT) - 3;
    const until = from + Math.ceil(this.scroller.clientHeight / PAIR_HEIGHT) + 6;
    const wanted = new Set([this.cursor]);
    for (let n = Math.max(1, from); n <= Math.min(this.last, until); n += 1) wanted.add(n);
    for (const [n, node] of this.cells) {
      if (wanted.has(n)) continue;
      node.remove();
      this.cells.delete(n);
    }
    for (const n of [...wanted].filter((one) => one <= this.last).sort((a, b) => a - b)) {
      if (!this.cells.has(n)) {
        const node = this.row(n);
        const after = [...this.cells.keys()].filter((one) => one > n);
        this.list.insertBefore(node, after.length ? this.cells.get(Math.min(...after)) : null);
        this.cells.set(n, node);
      }
      const node = this.cells.get(n);
      node.setAttribute("aria-selected", String(n === this.cursor));
      node.tabIndex = n === this.cursor ? 0 : -1;
    }
  }

  // Of a long recording a step may be drawn before it has come.
  stepsCame() {
    const { cells } = this;
    const absent = [...cells].filter(([n, node]) => {
      const row = this.data.rows[n - 1];
      return node.absent && [this.step("left", row.left), this.step("right", row.right)].every((step) => !step?.coming);
    });
    if (!absent.length) return;
    const inList = this.list.contains(document.activeElement);
    for (const [n, node] of absent) {
      node.remove();
      cells.delete(n);
    }
    this.show();
    if (inList) cells.get(this.cursor)?.focus({ preventScroll: true });
  }

  step(side, n) {
    return n ? this.data[side].steps[n - 1] : null;
  }

  row(n) {
    const row = this.data.rows[n - 1];
    const [left, right] = [this.step("left", row.left), this.step("right", row.right)];
    const [sign] = PAIR_STATES[row.state];
    const cells = [this.cell("left", left, row), this.cell("right", right, row)];
    const node = html(
      "div",
      { role: "option", "data-row": n, class: `mcpsim-pair mcpsim-pairs-${row.state}`, "aria-posinset": n, "aria-setsize": this.last },
      ...apart(cells[0], html("span", { class: "mcpsim-pairs-sign", "aria-hidden": "true" }, sign), cells[1]),
    );
    if (n === this.data.start) node.classList.add("mcpsim-pairs-start");
    node.style.top = `${(n - 1) * PAIR_HEIGHT}px`;
    node.absent = [left, right].some((step) => step?.coming);
    // What is seen is in it as it is: whoever speaks to the computer says what he sees.
    node.setAttribute("aria-label", `${this.spoken(row, left, right)}: ${cells.map((cell) => cell.textContent.trim()).join(" ")}`);
    return node;
  }

  spoken(row, left, right) {
    const [a, b] = this.data.names;
    const route = (step) => (step.to ? `${step.from} to ${step.to}` : step.from);
    if (row.state === "only") return `Only in ${left ? a : b}, ${route(left || right)}`;
    if (row.state === "moved") return `In ${left ? a : b}, ${route(left || right)}, in ${left ? b : a} step ${row.elsewhere}`;
    if (row.state === "same") return `The same in both, ${route(left)}${row.later ? `, in ${b} ${row.later}` : ""}`;
    return `Differs, ${a}: ${route(left)}, ${b}: ${route(right)}`;
  }

  // How late the right side is. Where it is as late as in the row before, without the word "same".
  lateness(row) {
    if (!row.later || row.state !== "same") return row.later;
    let at = this.data.rows.indexOf(row) - 1;
    while (at >= 0 && !(this.data.rows[at].left && this.data.rows[at].right)) at -= 1;
    return this.data.rows[at]?.later === row.later ? row.later : `same, ${row.later}`;
  }

  cell(name, step, row) {
    const side = this.data[name];
    const lines = side.parties.map((_, i) => svg("line", { x1: `${this.x(side, i)}%`, x2: `${this.x(side, i)}%`, y1: 0, y2: PAIR_HEIGHT, class: "mcpsim-lifeline" }));
    const drawing = svg("svg", { class: "mcpsim-pairs-drawing", "aria-hidden": "true" }, ...lines);
    const cell = html("div", { class: "mcpsim-pairs-cell" }, drawing);
    if (!step) {
      cell.classList.add("mcpsim-pairs-gap");
      const other = name === "left" ? "right" : "left";
      if (row.state === "moved") cell.append(html("span", { class: "mcpsim-pairs-note" }, `here it is step ${row.elsewhere}`));
      else cell.append(html("span", { class: "mcpsim-pairs-note" }, `only in ${this.data.names[other === "left" ? 0 : 1]}`));
      return cell;
    }
    const from = side.parties.indexOf(step.from);
    const to = step.to ? side.parties.indexOf(step.to) : -1;
    const text = html(
      "span",
      { class: "mcpsim-pairs-text", title: step.gist ? `${step.label} — ${step.gist}` : step.label },
      ...apart(
        html("span", { class: "mcpsim-pairs-number" }, step.n),
        mark(step.kind),
        html("bdi", { class: "mcpsim-pairs-label" }, step.label),
        step.gist ? html("bdi", { class: "mcpsim-pairs-gist" }, step.gist) : null,
        step.fate === "dropped" ? html("span", { class: "mcpsim-tag" }, "lost") : null,
        step.fate === "in flight" ? html("span", { class: "mcpsim-tag" }, "not arrived") : null,
        step.copy_of ? html("span", { class: "mcpsim-tag" }, `copy of ${step.copy_of}`) : null,
        step.changed ? html("span", { class: "mcpsim-tag" }, "changed on the way") : null,
        row.state === "only" ? html("span", { class: "mcpsim-tag mcpsim-pairs-here" }, "only here") : null,
        name === "right" && row.later ? html("span", { class: "mcpsim-pairs-later" }, this.lateness(row)) : null,
      ),
    );
    cell.append(text);
    if (from < 0) return cell;
    const x1 = this.x(side, from);
    const group = svg("g", { class: `mcpsim-arrow mcpsim-k-${step.kind}` });
    // The head of an arrow has room above the frame of a row.
    const y = PAIR_HEIGHT - 16;
    if (to >= 0 && to !== from) {
      const share = step.fate === "dropped" ? 0.62 : step.fate === "in flight" ? 0.8 : 1;
      const x2 = x1 + (this.x(side, to) - x1) * share;
      const end = svg("svg", { x: `${x2}%`, y, class: "mcpsim-pairs-end" });
      if (step.fate === "dropped") end.append(cross(0, 0));
      else if (step.fate === "in flight") end.append(svg("text", { x: 0, y: 5, "text-anchor": "middle", class: "still" }, "…"));
      else end.append(arrowHead(step.kind, 0, 0, Math.sign(x2 - x1), 0));
      group.append(svg("line", { x1: `${x1}%`, y1: y, x2: `${x2}%`, y2: y, class: "shaft" }), end);
    }
    group.append(svg("circle", { cx: `${x1}%`, cy: y, r: to >= 0 ? 3 : 4, class: "start" }));
    drawing.append(group);
    return cell;
  }

  go(n, focus = false) {
    if (!this.last) return;
    const inList = focus || (document.activeElement && this.list.contains(document.activeElement));
    this.cursor = clamp(n, 1, this.last);
    this.show();
    if (inList) this.cells.get(this.cursor)?.focus({ preventScroll: true });
    this.moved(this.cursor);
  }

  // The cursor of other views of the same comparison.
  follow(n) {
    if (n === this.cursor || !this.data || !this.last) return;
    this.cursor = clamp(n, 1, this.last);
    this.show();
  }

  nextDifference() {
    const found = this.data.rows.map((row, i) => (row.state === "same" ? 0 : i + 1)).filter(Boolean);
    if (found.length) this.go(found.find((n) => n > this.cursor) || found[0]);
  }

  show() {
    const row = this.data.rows[this.cursor - 1];
    const different = this.data.rows.filter((one) => one.state !== "same").length;
    this.next.disabled = !different;
    this.place.textContent = row ? `Row ${this.cursor.toLocaleString("en")} of ${this.last.toLocaleString("en")}` : "There are no steps.";
    const top = (this.cursor - 1) * PAIR_HEIGHT;
    const height = this.scroller.clientHeight - 48;
    if (height > 0 && (top < this.scroller.scrollTop || top + PAIR_HEIGHT > this.scroller.scrollTop + height)) {
      this.scroller.scrollTop = Math.max(0, top - height * 0.4);
    }
    this.draw();
    if (!row) return;
    const [left, right] = [this.step("left", row.left), this.step("right", row.right)];
    this.told.replaceChildren(...this.narration(row, left, right));
    this.bodies.replaceChildren(this.body(0, left, right), this.body(1, right, left));
  }

  narration(row, left, right) {
    const [, words] = PAIR_STATES[row.state];
    const [a, b] = this.data.names;
    const where = { only: `only in ${left ? a : b}`, moved: `in ${left ? b : a} it is step ${row.elsewhere}` }[row.state] || words;
    const but = row.state === "same" && row.later ? ", but for the time" : "";
    const told = [html("p", { class: "mcpsim-pairs-state" }, this.badge(row.state, `${where}${but}`), row.later ? ` ${b}: ${row.later}` : "")];
    const sentence = (name, step) => html("p", { dir: "auto" }, html("b", {}, html("bdi", {}, name), ": "), ...prose(step.what));
    if (left && right && left.what === right.what) told.push(html("p", { dir: "auto" }, ...prose(left.what)));
    else {
      if (left) told.push(sentence(a, left));
      if (right) told.push(sentence(b, right));
    }
    if (row.changes.length) {
      const heads = ["What differs", a, b].map((text) => html("th", { scope: "col" }, html("bdi", {}, text)));
      const lines = row.changes.map(([place, before, after]) =>
        html(
          "tr",
          {},
          html("th", { scope: "row" }, html("code", {}, place)),
          html("td", { dir: "auto" }, before || html("span", { class: "mcpsim-pairs-nothing" }, "—")),
          html("td", { dir: "auto" }, after || html("span", { class: "mcpsim-pairs-nothing" }, "—")),
        ),
      );
      const table = html("table", { class: "mcpsim-pairs-changes" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...lines));
      told.push(html("div", { class: "mcpsim-pairs-wide", tabindex: "0", role: "group", "aria-label": "What differs" }, table));
    }
    return told;
  }

  // A message of one side. Lines that the other side does not have stand out.
  body(side, step, other) {
    const name = this.data.names[side];
    const box = html("div", { class: "mcpsim-pairs-body" }, html("h4", {}, html("bdi", {}, name), step ? ` — step ${step.n}, ${step.time}` : ""));
    if (!step) {
      box.append(html("p", { class: "mcpsim-pairs-nothing" }, "Nothing here."));
      return box;
    }
    if (step.json) {
      const there = new Map();
      for (const line of ((other && other.json) || "").split("\n")) {
        const plain = line.replace(/,$/, "");
        there.set(plain, (there.get(plain) || 0) + 1);
      }
      const lines = step.json.split("\n").map((line) => {
        const plain = line.replace(/,$/, "");
        const news = other && other.json && !there.get(plain);
        if (there.get(plain)) there.set(plain, there.get(plain) - 1);
        return html("span", news ? { class: "mcpsim-pairs-news" } : {}, `${line}\n`);
      });
      box.append(html("pre", { tabindex: "0", dir: "ltr" }, ...lines));
    } else if (step.raw && step.raw.length) {
      box.append(html("pre", { tabindex: "0", dir: "ltr" }, step.raw.map(([title, text]) => `${title}\n${text}`).join("\n\n")));
    } else {
      box.append(html("p", { dir: "auto" }, step.label));
    }
    return box;
  }

  // True where it took the key.
  onKey(event) {
    const moves = {
      ArrowLeft: () => this.go(this.cursor - 1),
      ArrowUp: () => this.go(this.cursor - 1),
      ArrowRight: () => this.go(this.cursor + 1),
      ArrowDown: () => this.go(this.cursor + 1),
      Home: () => this.go(1),
      End: () => this.go(this.last),
      d: () => this.nextDifference(),
    };
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (!moves[event.key] || (vertical && event.target.closest("pre, .mcpsim-pairs-wide"))) return false;
    moves[event.key]();
    return true;
  }
}

function renderComparison({ model, el }) {
  const root = html("div", { class: "mcpsim-ui mcpsim-comparison", role: "region", tabindex: "-1" });
  const title = html("strong", { dir: "auto" });
  const keys = PAIR_KEYS.map(([key, text]) => html("span", {}, html("kbd", {}, key), ` ${text}`));
  const pairs = new Pairs((row) => {
    model.set("cursor", row);
    model.save_changes();
  });
  root.append(html("div", { class: "mcpsim-comparison-header" }, title, html("span", { class: "mcpsim-comparison-keys" }, ...keys)), pairs.element);
  const show = () => {
    const data = model.get("data");
    title.textContent = data.title;
    root.setAttribute("aria-label", `Comparison: ${data.names.join(" and ")}`);
    pairs.set(data, model.get("cursor"));
  };
  const follow = () => pairs.follow(model.get("cursor"));
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pairs.onKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  el.replaceChildren(root);
  show();
  model.on("change:data", show);
  model.on("change:cursor", follow);
  return () => {
    model.off("change:data", show);
    model.off("change:cursor", follow);
    pairs.remove();
    root.remove();
  };
}
