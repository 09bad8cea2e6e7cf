// The same steps as a table, for whoever reads better than looks.

const TABLE_CHUNK = 500;
// What goes on for a while: so many things of it, those that are nearest to the step at hand.
const GOING_ON = 60;

// A long name breaks after a "/", and within a word only where nothing else helps.
function broken(text) {
  return text.split(/(?<=\/)/).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
}

class Table {
  constructor(view) {
    this.view = view;
  }

  build() {
    this.element = html("div", { class: "mcpsim-table", hidden: !this.view.tabular, tabindex: "0" });
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", "All messages as a table");
    return this.element;
  }

  draw() {
    const heads = ["Step", "Time", "From", "To", "Kind", "Message", "What happened"];
    this.rows = html("tbody");
    // After which step it begins, and up to which it is written: of a long recording, what is around the cursor.
    this.from = this.around();
    this.until = this.from;
    this.absent = false;
    const table = html(
      "table",
      {},
      html("caption", {}, `All steps of “${this.view.data.title}”`),
      html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))),
      this.rows,
    );
    this.earlier = html("button", { type: "button" }, "Show earlier steps");
    this.earlier.addEventListener("click", () => this.addBefore(TABLE_CHUNK));
    this.more = html("button", { type: "button" }, "Show more steps");
    this.more.addEventListener("click", () => this.add(TABLE_CHUNK));
    this.going = html("div", {}, ...this.bars());
    this.element.replaceChildren(this.earlier, table, this.more, this.going);
    this.add(TABLE_CHUNK);
    this.mark();
  }

  around() {
    const { cursor, last } = this.view;
    return cursor <= TABLE_CHUNK / 2 || last <= TABLE_CHUNK ? 0 : cursor - TABLE_CHUNK / 2;
  }

  pieceCame() {
    if (!this.absent) return;
    const top = this.element.scrollTop;
    this.draw();
    this.element.scrollTop = top;
  }

  saysOf(step) {
    return this.view
      .each("says", step)
      .filter(Boolean)
      .map((text) => html("div", { class: "mcpsim-quiet" }, text));
  }

  // What goes on for a while, as far as it has begun where what comes is hidden.
  bars() {
    const { data, cursor, hiding } = this.view;
    const begun = data.bars.filter((bar) => !hiding || bar.from <= cursor);
    if (!begun.length) return [];
    const far = (bar) => (bar.from > cursor ? bar.from - cursor : Math.max(0, cursor - (bar.until ?? Infinity)));
    const near = begun.length > GOING_ON ? [...begun].sort((a, b) => far(a) - far(b)).slice(0, GOING_ON) : begun;
    const kept = new Set(near);
    const seen = begun.filter((bar) => kept.has(bar));
    const left = begun.length - seen.length;
    const caption = `What goes on for a while${left ? `: what is nearest to step ${cursor}, without ${left.toLocaleString("en")} others` : ""}`;
    const rows = seen.map((bar) => {
      const until = bar.until === null || (hiding && bar.until > cursor) ? "" : bar.until;
      const marks = bar.marks.filter((mark) => !hiding || mark[0] <= cursor).map((mark) => mark[4]);
      const end = until === "" ? "" : bar.end;
      return html(
        "tr",
        {},
        html("td", {}, html("bdi", {}, bar.party)),
        html("td", {}, html("span", { class: "mcpsim-cell" }, barMark(bar.kind), html("bdi", {}, bar.text))),
        html("td", {}, bar.from),
        html("td", {}, until),
        html("td", {}, [end, marks.length ? `progress ${marks.join(", ")}` : ""].filter(Boolean).join("; ")),
      );
    });
    const heads = ["Who", "What", "From step", "To step", "How it ended, and progress"];
    return [
      html(
        "table",
        { class: "mcpsim-going-on" },
        html("caption", {}, caption),
        html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))),
        html("tbody", {}, ...rows),
      ),
    ];
  }

  add(count) {
    const limit = this.view.hiding ? this.view.cursor : this.view.last;
    const end = Math.min(limit, this.until + count);
    this.rows.append(...this.rowsOf(this.until, end));
    this.until = Math.max(this.until, end);
    this.more.hidden = this.until >= limit;
    this.earlier.hidden = !this.from;
  }

  addBefore(count) {
    const from = Math.max(0, this.from - count);
    this.rows.prepend(...this.rowsOf(from, this.from));
    this.from = from;
    this.earlier.hidden = !from;
  }

  rowsOf(from, until) {
    const rows = [];
    const steps = this.view.data.steps.slice(from, until);
    if (steps.some((step) => step.coming)) {
      this.absent = true;
      lookAt(this.view.data, from + 1, until);
    }
    for (const step of steps) {
      if (this.view.hides(step) || this.view.skips(step)) continue;
      const button = html("button", { type: "button" }, step.n);
      button.setAttribute("aria-label", `Go to step ${step.n}`);
      button.addEventListener("click", () => this.view.go(step.n));
      const part = partOf(this.view.data, step, this.view.hiding);
      const fate = step.fate === "dropped" ? " (lost)" : step.fate === "in flight" ? " (not arrived)" : "";
      rows.push(
        html(
          "tr",
          { "data-step": step.n, class: this.view.each("classes", step).flat().join(" ") },
          html("th", { scope: "row" }, button),
          html("td", {}, step.time),
          html("td", {}, html("bdi", {}, step.from)),
          html("td", {}, html("bdi", {}, step.to)),
          html("td", {}, html("span", { class: "mcpsim-cell" }, mark(step.kind), KINDS[step.kind] || step.kind)),
          html("td", {}, html("bdi", {}, ...broken(`${step.label} ${step.gist}${fate}`)), part ? html("div", { class: "mcpsim-quiet" }, part) : null, ...this.saysOf(step)),
          html("td", { dir: "ltr" }, ...prose(step.what), ...findingsOf(this.view.data, step)),
        ),
      );
    }
    return rows;
  }

  mark() {
    const cursor = this.view.cursor;
    if (this.view.hiding && this.until > cursor) {
      while (this.rows.lastChild && Number(this.rows.lastChild.dataset.step) > cursor) this.rows.lastChild.remove();
      this.until = cursor;
    }
    if ((this.from && cursor <= this.from) || cursor > this.until + TABLE_CHUNK) return this.draw();
    if (this.until < cursor) this.add(cursor - this.until + 50);
    if (this.view.hiding || this.view.data.bars.length > GOING_ON) this.going.replaceChildren(...this.bars());
    for (const row of this.rows.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
    const row = this.rows.querySelector(`[data-step="${cursor}"]`);
    if (!row) return;
    row.setAttribute("aria-current", "step");
    row.scrollIntoView({ block: "nearest" });
  }
}
