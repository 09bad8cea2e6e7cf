// The map of errors: a row for each, a button that plays its example.

function renderErrors({ model, el }) {
  const view = new ActingPlayerView(model, el, (above) => new ErrorsView(model, above, "errors"));
  return () => view.remove();
}

class ErrorsView extends ActingView {
  build() {
    const filter = () => this.ask({ do: "filter", era: this.era.value, reader: this.reader.value });
    this.era = this.select(this.shown.eras);
    this.era.addEventListener("change", filter);
    this.reader = this.select(this.shown.readers);
    this.reader.addEventListener("change", filter);
    this.table = html("table", { class: "mcpsim-errors-table" });
    this.links = html("p", { class: "mcpsim-acting-notes" });
    this.root.append(
      this.head("Press an error to read its whole row, and to see a run in which it happens."),
      html("div", { class: "mcpsim-acting-tools" }, this.field("Era", this.era), this.field("Read by", this.reader)),
      this.error,
      // Not as high as it could be: what is chosen in it is played below.
      html("div", { class: "mcpsim-errors-box" }, scrollBox("The errors", this.table)),
      this.status,
      this.busy,
      this.links,
    );
  }

  show(shown) {
    this.stand(this.era, shown.era);
    this.stand(this.reader, shown.reader);
    this.say(shown.status);
    this.links.replaceChildren(...shown.urls.map((url) => specLink(url, { full: true })));
    const focused = this.table.contains(document.activeElement) ? document.activeElement.dataset.code : "";
    const heads = shown.columns.map((text) => html("th", { scope: "col" }, text));
    const groups = shown.groups.filter((group) => group.rows.length).map((group) => this.group(group, heads.length));
    this.table.replaceChildren(html("thead", {}, html("tr", {}, ...heads)), ...groups);
    const again = focused && this.table.querySelector(`button[data-code="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
  }

  group({ head, rows }, width) {
    const title = html("tr", {}, html("th", { scope: "rowgroup", colspan: width, class: "mcpsim-errors-group" }, head));
    return html("tbody", {}, title, ...rows.map((row) => this.row(row)));
  }

  row({ code, name, chosen, cells, note }) {
    const button = this.button(name, () => this.ask({ do: "choose", code }), {
      "data-code": code,
      "aria-pressed": String(chosen),
    });
    const last = cells.length - 1;
    const texts = cells.map((text, i) =>
      html("td", {}, html("div", { class: "mcpsim-errors-text" }, ...prose(text), i === last && note ? html("p", { class: "mcpsim-acting-quiet" }, ...prose(`Note: ${note}`)) : null)),
    );
    return html("tr", { class: chosen ? "mcpsim-errors-chosen" : null }, html("th", { scope: "row" }, button), ...texts);
  }
}
