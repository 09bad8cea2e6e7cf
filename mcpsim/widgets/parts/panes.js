// The panes beside the diagram: the message, its raw bytes, and what the parties remember.

const PANES = { message: "Message", raw: "Raw bytes", memory: "Memory" };

class Panes {
  constructor(view) {
    this.view = view;
    this.tab = "message";
  }

  build() {
    const more = this.view.each("tab").filter(Boolean);
    const names = { ...PANES, ...Object.fromEntries(more.map((one) => [one.name, one.label])) };
    this.more = new Map(more.map((one) => [one.name, one]));
    this.names = Object.keys(names);
    this.tabs = {};
    this.panes = {};
    const strip = html("div", { class: "mcpsim-tabs", role: "tablist", "aria-label": "About this step" });
    // Ids tie a tab to its pane; a page can hold many players.
    const id = `mcpsim-${Math.random().toString(36).slice(2)}`;
    for (const [name, label] of Object.entries(names)) {
      const tab = html("button", { type: "button", role: "tab", id: `${id}-${name}-tab` }, label);
      tab.setAttribute("aria-controls", `${id}-${name}`);
      tab.addEventListener("click", () => this.select(name));
      tab.addEventListener("keydown", (event) => this.onTabKey(event, name));
      this.tabs[name] = tab;
      this.panes[name] = html("div", { role: "tabpanel", id: `${id}-${name}`, tabindex: "0", class: "mcpsim-pane" });
      this.panes[name].setAttribute("aria-labelledby", `${id}-${name}-tab`);
      strip.append(tab);
    }
    return html("div", { class: "mcpsim-panel" }, strip, ...Object.values(this.panes));
  }

  onTabKey(event, name) {
    const order = Object.keys(this.tabs);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = order[(order.indexOf(name) + by + order.length) % order.length];
    this.select(next);
    this.tabs[next].focus();
    this.view.handled(event);
  }

  select(name) {
    this.tab = name;
    for (const [other, tab] of Object.entries(this.tabs)) {
      tab.setAttribute("aria-selected", String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      this.panes[other].hidden = other !== name;
    }
    this.show();
  }

  show() {
    const cursor = this.view.cursor;
    const step = this.view.data.steps[cursor - 1];
    const changed = this.view.data.memory.some((party) => cursor > 0 && party.at.some((entry) => entry.step === cursor));
    this.tabs.memory.classList.toggle("mcpsim-news", changed);
    this.tabs.memory.replaceChildren("Memory", ...(changed ? [html("span", { class: "mcpsim-badge" }, "changed")] : []));
    const pane = this.panes[this.tab];
    const own = {
      message: () => this.messagePane(step),
      raw: () => this.rawPane(step),
      memory: () => this.memoryPane(cursor),
    };
    pane.replaceChildren(...(own[this.tab] ? own[this.tab]() : this.more.get(this.tab).show(step, cursor)));
    pane.scrollTop = 0;
  }

  messagePane(step) {
    if (!step) return [html("p", { class: "mcpsim-quiet" }, "No message yet.")];
    if (!step.frame) return [html("p", { class: "mcpsim-quiet" }, "This step is not a message: nothing crosses the wire.")];
    const parts = [html("p", { class: "mcpsim-travel" }, this.travel(step))];
    if (step.json === null) parts.push(html("p", { class: "mcpsim-quiet" }, "There is no JSON in it. Look at the raw bytes."));
    else parts.push(this.json(step));
    if (step.fields.length) parts.push(...this.fields(step));
    return parts;
  }

  travel(step) {
    const exchange = step.exchange ? ` HTTP exchange ${step.exchange}.` : "";
    const left = `Left at ${step.time}`;
    if (step.fate === "dropped") return `${left}, and was lost.${exchange}`;
    if (step.fate === "in flight") return `${left}, and had not arrived at the end.${exchange}`;
    return `${left}, on the way for ${step.took}.${exchange}`;
  }

  json(step) {
    const numbers = new Map();
    step.fields.forEach(([, , line], i) => {
      if (line >= 0 && !numbers.has(line)) numbers.set(line, i + 1);
    });
    const lines = step.json.split("\n").map((line, i) => {
      const indent = line.length - line.trimStart().length;
      const row = html("div", { class: "mcpsim-line", "data-line": i }, ...this.tokens(line.trimStart()));
      row.style.paddingLeft = `${indent + 2}ch`;
      if (numbers.has(i)) {
        row.classList.add("mcpsim-explained");
        row.append(html("sup", { class: "mcpsim-ref" }, numbers.get(i)));
      }
      return row;
    });
    return html("div", { class: "mcpsim-json", dir: "ltr" }, ...lines);
  }

  tokens(line) {
    const found = /^("(?:[^"\\]|\\.)*"): ?(.*)$/s.exec(line);
    const rest = found ? found[2] : line;
    const kind = /^"/.test(rest) ? "string" : /^[-\d]|^(true|false|null)\b/.test(rest) ? "literal" : "";
    const value = html("span", kind ? { class: `mcpsim-${kind}` } : {}, rest);
    return found ? [html("span", { class: "mcpsim-key" }, found[1]), ": ", value] : [value];
  }

  fields(step) {
    const items = step.fields.map(([path, position, line], i) => {
      const [text, url] = this.view.data.texts[position];
      const item = html(
        "li",
        { "data-line": line },
        html("code", { class: "mcpsim-path" }, path),
        " ",
        ...prose(text),
        " ",
        specLink(url, { full: false }),
      );
      item.value = i + 1;
      const light = (on) => {
        const row = this.panes.message.querySelector(`.mcpsim-line[data-line="${line}"]`);
        if (row) row.classList.toggle("mcpsim-lit", on);
      };
      item.addEventListener("mouseenter", () => light(true));
      item.addEventListener("mouseleave", () => light(false));
      return item;
    });
    return [html("h4", {}, "Fields that matter"), html("ol", { class: "mcpsim-fields" }, ...items)];
  }

  rawPane(step) {
    if (!step || !step.frame) return [html("p", { class: "mcpsim-quiet" }, "No bytes cross the wire at this step.")];
    return step.raw.flatMap(([title, text]) => [html("h4", {}, title), this.rawBlock(text)]);
  }

  rawBlock(text) {
    const parts = text.split("⏎").flatMap((part, i) => (i ? [html("span", { class: "mcpsim-newline", title: "newline" }, "⏎"), part] : [part]));
    return html("pre", { class: "mcpsim-raw", dir: "ltr", tabindex: "0" }, ...parts);
  }

  memoryPane(cursor) {
    const cards = this.parties().map(([name, history]) => this.memoryCard(name, history, cursor));
    const open = this.view.data.requests.filter(
      (request) => request.opened <= cursor && (request.ended === null || request.ended > cursor),
    );
    const travelling = this.view.data.steps
      .slice(0, cursor)
      .filter((step) => step.to && step.fate === "delivered" && step.arrives > cursor);
    return [
      html("div", { class: "mcpsim-cards" }, ...cards),
      html("h4", {}, "Requests in flight"),
      this.simpleList(
        open.map((request) => `${request.label} — ${request.from} waits for ${request.to}, since step ${request.opened}`),
        "none",
      ),
      ...(travelling.length
        ? [
            html("h4", {}, "Still on the way"),
            this.simpleList(travelling.map((step) => `${step.label} (step ${step.n}), to ${step.to}`), "nothing"),
          ]
        : []),
    ];
  }

  parties() {
    const known = this.view.data.memory.map((entry) => [
      entry.connection ? `${entry.party}, connection ${entry.connection}` : entry.party,
      entry.at,
    ]);
    const named = new Set(this.view.data.memory.map((entry) => entry.party));
    const silent = this.view.data.parties.filter((party) => !named.has(party)).map((party) => [party, null]);
    return [...known, ...silent];
  }

  memoryCard(name, history, cursor) {
    let entry = null;
    for (const each of history || []) if (each.step <= cursor) entry = each;
    const news = entry && cursor > 0 && entry.step === cursor;
    const rows = entry ? entry.rows.filter((row) => row[2] !== "forgotten" || news) : [];
    const unknown = !history && this.view.data.source === "import";
    const body = rows.length
      ? html("dl", {}, ...rows.map((row) => this.memoryRow(row, news)))
      : html("p", { class: "mcpsim-nothing" }, unknown ? "not known: the trace does not say" : "nothing");
    return html("div", { class: "mcpsim-card" }, html("h4", {}, html("bdi", {}, name), " remembers"), body);
  }

  memoryRow([key, value, change], news) {
    const tag = news && change ? html("span", { class: `mcpsim-change mcpsim-${change}` }, change) : null;
    return html("div", { class: tag ? "mcpsim-fresh" : "" }, html("dt", {}, html("bdi", {}, key), tag ? " " : null, tag), html("dd", { dir: "auto" }, value));
  }

  simpleList(texts, none) {
    if (!texts.length) return html("p", { class: "mcpsim-nothing" }, none);
    const shown = texts.slice(0, 50).map((text) => html("li", { dir: "auto" }, text));
    if (texts.length > shown.length) shown.push(html("li", {}, `and ${texts.length - shown.length} more`));
    return html("ul", {}, ...shown);
  }
}
