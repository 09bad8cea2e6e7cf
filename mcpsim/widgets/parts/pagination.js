// The pagination explorer: a column for each item of the list, a row for everything that happened.

function renderPagination({ model, el }) {
  const view = new PaginationView(model, el, "pagination");
  return () => view.remove();
}

const PAGINATION_SIGNS = { here: "", absent: "", shown: "●", again: "◉", added: "+", removed: "×" };

class PaginationView extends ActingView {
  build() {
    this.next = this.button("Next page", () => this.ask({ do: "next" }), { class: "mcpsim-acting-main" });
    const again = this.button("Start again", () => this.ask({ do: "again" }));
    this.undo = this.button("Undo", () => this.ask({ do: "undo" }));
    this.scheme = this.select(this.shown.schemes);
    this.scheme.addEventListener("change", () => this.ask({ do: "scheme", scheme: this.scheme.value }));
    this.place = this.select([["front", "at the front"], ["middle", "in the middle"], ["end", "at the end"]]);
    const add = this.button("Add", () => this.ask({ do: "add", text: this.place.value }));
    this.item = this.select(this.shown.present);
    const remove = this.button("Remove", () => this.ask({ do: "remove", text: this.item.value }));
    this.size = html("input", { type: "number", min: 1, max: 30, step: 1 });
    this.size.addEventListener("change", () => this.resize());
    this.cursor = html("input", { type: "text", size: 12, maxlength: 200, spellcheck: "false", dir: "auto" });
    this.cursor.value = "page-2";
    const send = this.button("Send it", () => this.ask({ do: "cursor", text: this.cursor.value }));
    const empty = this.button("Send an empty one", () => this.ask({ do: "cursor", text: "" }));
    this.cursor.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.ask({ do: "cursor", text: this.cursor.value });
    });
    const group = (label, ...children) =>
      html("span", { class: "mcpsim-acting-group", role: "group", "aria-label": label }, ...children);
    this.table = html("table", { class: "mcpsim-pagination-table" });
    this.explained = html("p", { class: "mcpsim-acting-notes" });
    this.root.append(
      this.head("The list changes while a client reads it."),
      html("div", { class: "mcpsim-acting-tools" },
        group("The client", this.next, again, this.undo),
        group("In the cursor", this.field("This server hides in the cursor", this.scheme)),
      ),
      html("div", { class: "mcpsim-acting-tools" },
        group("Add an item", this.field("New item", this.place), add),
        group("Remove an item", this.field("Item", this.item), remove),
        group("Page size", this.field("Page size", this.size)),
        group("A made-up cursor", this.field("Made-up cursor", this.cursor), send, empty),
      ),
      this.error,
      this.status,
      this.busy,
      scrollBox("The list and its pages", this.table),
      this.legend(),
      this.explained,
      html("p", { class: "mcpsim-acting-notes" }, ...prose(this.shown.rules), ...this.shown.urls.flatMap((url) => [" ", specLink(url, { full: true })])),
    );
  }

  legend() {
    const sign = (state, text) =>
      html("span", {}, html("span", { class: `mcpsim-pagination-cell mcpsim-pagination-${state}`, "aria-hidden": "true" }, PAGINATION_SIGNS[state]), ` ${text}`);
    return html(
      "p",
      { class: "mcpsim-pagination-legend" },
      sign("here", "in the list"),
      sign("shown", "came with the page"),
      sign("again", "came again"),
      sign("added", "added"),
      sign("removed", "removed"),
    );
  }

  resize() {
    const stand = this.shown.size;
    const size = this.size.value.trim() === "" ? stand : Math.round(clamp(Number(this.size.value), 1, 30));
    this.size.value = size;
    if (size !== stand || this.waiting) this.ask({ do: "size", size });
  }

  show(shown) {
    this.usable(this.next, !shown.ended);
    this.next.textContent = shown.rows.some((row) => row.kind === "page") ? "Next page" : "First page";
    this.usable(this.undo, shown.undoable);
    this.stand(this.scheme, shown.scheme);
    this.choices(this.item, shown.present);
    this.stand(this.size, shown.size);
    this.explained.replaceChildren(
      html("b", {}, `Hidden here: ${(shown.schemes.find(([name]) => name === shown.scheme) || ["", ""])[1]}. `),
      ...prose(shown.explained),
    );
    this.say(shown.status);
    this.draw(shown);
  }

  draw(shown) {
    const heads = ["What happened", ...shown.items, "Cursor"];
    const head = html("tr", {}, ...heads.map((text) => html("th", { scope: "col", dir: "auto" }, text)));
    const rows = shown.rows.map((row) => this.row(row, shown.items));
    const last = html(
      "tr",
      { class: "mcpsim-pagination-outcome" },
      html("th", { scope: "row" }, "By now"),
      ...shown.outcomes.map(([state, sign, text]) =>
        html(
          "td",
          { class: `mcpsim-pagination-is-${state}`, title: text },
          html("span", { "aria-hidden": "true" }, sign),
          spoken(text),
        ),
      ),
      html("td", { class: "mcpsim-pagination-cursor" }, this.key(shown)),
    );
    this.table.replaceChildren(html("thead", {}, head), html("tbody", {}, ...rows, last));
  }

  // What the signs of the last row mean, as far as they are there.
  key(shown) {
    const known = { once: "✓ came once", coming: "… would still come", missed: "✗ missed", twice: "2× came twice", again: "1×+ will come again", gone: "– gone unread", unseen: "○ added since, not seen" };
    const there = new Set(shown.outcomes.map(([state]) => state));
    return Object.keys(known).filter((state) => there.has(state)).map((state) => known[state]).join(", ");
  }

  row(row, items) {
    const page = row.kind === "page";
    const took = row.cells.map(([state]) => state === "shown" || state === "again");
    const [first, last] = [took.indexOf(true), took.lastIndexOf(true)];
    const cells = row.cells.map(([state, text], i) => {
      const bracket = page && i >= first && i <= last && first >= 0
        ? ` mcpsim-pagination-in${i === first ? " mcpsim-pagination-first" : ""}${i === last ? " mcpsim-pagination-last" : ""}`
        : "";
      return html(
        "td",
        { class: `mcpsim-pagination-at${bracket}`, title: `${items[i]}: ${text}` },
        html("span", { class: `mcpsim-pagination-cell mcpsim-pagination-${state}`, "aria-hidden": "true" }, PAGINATION_SIGNS[state]),
        spoken(text),
      );
    });
    const said = row.cursor.map(([name, text]) =>
      html("div", {}, html("span", { class: "mcpsim-acting-quiet" }, `${name}: `), html("bdi", { class: "mcpsim-pagination-value" }, text)),
    );
    return html(
      "tr",
      { class: `mcpsim-pagination-row-${row.kind}` },
      html("th", { scope: "row" }, row.head),
      ...cells,
      html("td", { class: "mcpsim-pagination-cursor" }, ...said),
    );
  }
}
