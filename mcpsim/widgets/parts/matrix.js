// The matrix of eras: a row for each client, a column for each server, a button for each run.

function renderMatrix({ model, el }) {
  const view = new ActingPlayerView(model, el, (above) => new MatrixView(model, above, "matrix"));
  return () => view.remove();
}

class MatrixView extends ActingView {
  build() {
    this.transport = this.select(this.shown.transports);
    this.transport.addEventListener("change", () => this.ask({ do: "transport", transport: this.transport.value }));
    this.cells = this.shown.rows.map((row) => row.cells.map((cell) => this.cell(cell)));
    const heads = ["", ...this.shown.columns].map((text, i) => (i ? html("th", { scope: "col" }, text) : html("td", {})));
    const rows = this.shown.rows.map((row, i) =>
      html("tr", {}, html("th", { scope: "row" }, row.head), ...this.cells[i].map((cell) => html("td", {}, cell.button))),
    );
    this.why = html("p", { class: "mcpsim-matrix-why" });
    this.failure = html("p", { class: "mcpsim-matrix-failure", dir: "auto", hidden: true });
    this.root.append(
      this.head("Each cell was played. Press one to see its run below."),
      html("div", { class: "mcpsim-acting-tools" }, this.field("Transport", this.transport)),
      this.error,
      scrollBox(
        "Every client at every server",
        html("table", { class: "mcpsim-matrix-table" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows)),
      ),
      this.status,
      this.busy,
      this.failure,
      this.why,
      html("p", { class: "mcpsim-acting-notes" }, ...prose(this.shown.rules), ...this.shown.urls.flatMap((url) => [" ", specLink(url, { full: true })])),
    );
  }

  cell({ client, server }) {
    const button = this.button("", () => this.ask({ do: "choose", client, server }), { class: "mcpsim-matrix-cell" });
    return { button, text: "" };
  }

  show(shown) {
    this.stand(this.transport, shown.transport);
    shown.rows.forEach((row, i) => row.cells.forEach((cell, j) => this.fillCell(this.cells[i][j].button, cell)));
    this.say(shown.status);
    this.why.replaceChildren(...prose(shown.why));
    this.failure.textContent = shown.failure;
    this.failure.hidden = !shown.failure;
  }

  fillCell(button, cell) {
    button.setAttribute("aria-pressed", String(cell.chosen));
    button.classList.toggle("mcpsim-matrix-fails", !cell.works);
    button.replaceChildren(
      html("span", { class: "mcpsim-matrix-word" }, html("span", { "aria-hidden": "true" }, `${cell.sign} `), cell.word),
      ...cell.about.map((text) => html("span", { class: "mcpsim-matrix-about" }, text)),
    );
  }
}
