// The layers view: one call, and what each layer puts around it. What a layer adds has a plus and a bar, and what it takes off a minus.

function renderLayers({ model, el }) {
  const view = new LayersView(model, el, "layers");
  return () => view.remove();
}

class LayersView extends ActingView {
  build() {
    this.era = this.select(this.shown.eras);
    this.era.addEventListener("change", () => this.ask({ do: "era", era: this.era.value }));
    this.call = this.select(this.shown.calls);
    this.call.addEventListener("change", () => this.ask({ do: "call", call: this.call.value }));
    this.alone = html("span", {});
    this.several = this.field("Call", this.call);
    this.only = html("span", { class: "mcpsim-acting-field" }, html("span", {}, "Call"), this.alone);
    this.ways = html("div", { class: "mcpsim-layers-ways" });
    this.links = html("p", { class: "mcpsim-acting-notes" });
    this.root.append(
      this.head("+ marks what a layer adds, − what it takes off again on the way back."),
      html("div", { class: "mcpsim-acting-tools" }, this.field("Era", this.era), this.several, this.only),
      this.error,
      this.status,
      this.busy,
      this.ways,
      this.links,
    );
  }

  show(shown) {
    this.stand(this.era, shown.era);
    this.choices(this.call, shown.calls);
    this.stand(this.call, shown.number);
    // Where there is one call, there is nothing to choose.
    const several = shown.calls.length > 1;
    this.several.hidden = !several;
    this.only.hidden = several;
    this.alone.replaceChildren(html("bdi", {}, shown.calls.length ? shown.calls[0][1] : "none"));
    this.say(shown.status);
    this.ways.replaceChildren(...shown.ways.map((way) => this.way(way)));
    this.links.replaceChildren(...shown.urls.flatMap((url) => [specLink(url, { full: true, anchor: sharesPage(url, shown.urls) }), " "]));
  }

  way({ head, sign, layers }) {
    const items = layers.map((layer) => this.layer(layer, sign));
    return html("section", { class: "mcpsim-layers-way" }, html("h4", {}, head), html("ol", {}, ...items));
  }

  layer({ name, about, blocks }, sign) {
    const boxes = blocks.map((block) => this.block(name, block, sign));
    return html(
      "li",
      { class: "mcpsim-layers-layer" },
      html("strong", {}, name),
      html("p", {}, ...prose(about)),
      html("div", { class: "mcpsim-layers-blocks" }, ...boxes),
    );
  }

  block(name, { label, lines }, sign) {
    const own = `mcpsim-layers-line mcpsim-layers-own${sign === "+" ? "" : " mcpsim-layers-off"}`;
    const shown = lines.map(([text, marked]) =>
      html(
        "span",
        { class: marked ? own : "mcpsim-layers-line" },
        html("span", { class: "mcpsim-layers-sign" }, marked ? `${sign} ` : "  "),
        html("bdi", {}, text),
        "\n",
      ),
    );
    const called = label ? `${name}, ${label}` : name;
    const box = html("pre", { class: "mcpsim-json mcpsim-layers-box", role: "group", "aria-label": called, tabindex: "0" }, ...shown);
    return html("div", { class: "mcpsim-layers-block" }, label ? html("span", { class: "mcpsim-acting-quiet" }, label) : null, box);
  }
}
