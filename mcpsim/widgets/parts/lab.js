// The message lab: templates, an editor, what became of what was sent, and the history.
//
// What is typed stays on this side until it is sent; a template is taken without asking the other side. Texts
// of a user go over as JSON strings: they may hold anything, even half of a surrogate pair.

function renderLab({ model, el }) {
  const lab = new MessageLabView(model, el, "lab");
  return () => lab.remove();
}

const LAB_KINDS = {
  request: "request",
  response: "result",
  error: "error",
  notification: "notification",
  batch: "batch",
  malformed: "no message",
  http: "HTTP only",
  stderr: "standard error",
  note: "note",
  closed: "closed",
  handler: "work stopped",
};
const LAB_OPEN = new Set(["request", "response", "error", "batch", "malformed", "http"]);
const LAB_ERAS = [
  ["both", "both eras"],
  ["modern", "modern only"],
  ["legacy", "legacy only"],
];
const LAB_BROKEN = "Broken on purpose";

class MessageLabView extends ActingView {
  build() {
    this.loaded = this.shown.edit.n;
    this.transport = "";
    this.root.replaceChildren(
      this.buildHead(),
      this.buildPlace(),
      html("div", { class: "mcpsim-lab-desk" }, this.buildTemplates(), this.buildEditor()),
      (this.result = html("div", { class: "mcpsim-lab-result" })),
      (this.history = html("div", { class: "mcpsim-lab-history" })),
    );
    // At any place of the lab, for whoever types.
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.send();
    });
  }

  // ------------------------------------------------------------------------------------- the frame

  buildHead() {
    const { transports, transport } = this.shown;
    this.carrier = this.select(transports);
    this.carrier.value = transport;
    this.carrier.addEventListener("change", () => this.again(this.carrier.value));
    return html(
      "div",
      { class: "mcpsim-acting-head" },
      this.title,
      html(
        "span",
        { class: "mcpsim-lab-tools" },
        this.field("Transport", this.carrier),
        this.button("Start again", () => this.again(this.shown.transport)),
      ),
    );
  }

  again(transport) {
    this.ask({ do: "again", transport });
  }

  // Where the session stands, and what time it is.
  buildPlace() {
    this.phases = html("ol", { class: "mcpsim-lab-phases", "aria-label": "Phases of a legacy session" });
    this.session = html("span", { class: "mcpsim-acting-quiet" });
    this.time = html("strong", {});
    this.ms = html("input", { type: "number", min: 0, max: 86400000, step: 100, value: 1000 });
    this.pass = this.button("Let time pass", () => this.letPass());
    this.streams = html("span", { class: "mcpsim-lab-streams" });
    this.hang = this.button("Close the connection", () => this.ask({ do: "hang up" }));
    return html(
      "div",
      { class: "mcpsim-lab-place" },
      html("div", { class: "mcpsim-lab-session" }, this.session, this.phases),
      html(
        "div",
        { class: "mcpsim-acting-group" },
        html("span", {}, "It is ", this.time),
        this.field("Milliseconds", this.ms),
        this.pass,
        this.hang,
        // Last, because they come and go.
        this.streams,
      ),
    );
  }

  letPass() {
    this.ask({ do: "wait", ms: clamp(Math.round(Number(this.ms.value)) || 0, 0, 86400000) });
  }

  // ------------------------------------------------------------------------------------- templates

  buildTemplates() {
    this.eras = this.select(LAB_ERAS);
    this.eras.value = this.shown.era;
    this.eras.addEventListener("change", () => this.ask({ do: "era", era: this.eras.value }));
    this.list = html("div", {
      class: "mcpsim-lab-list",
      role: "group",
      "aria-label": "What the protocol allows next",
      tabindex: "0",
    });
    this.more = html("div", { class: "mcpsim-lab-more", "aria-hidden": "true" }, "▾ more below");
    this.list.addEventListener("scroll", () => this.showMore(), { passive: true });
    this.sizes = new ResizeObserver(() => this.showMore());
    this.sizes.observe(this.list);
    return html(
      "div",
      { class: "mcpsim-lab-templates" },
      html("div", { class: "mcpsim-lab-heading" }, html("h4", {}, "What the protocol allows next"), this.field("Show", this.eras)),
      this.list,
      this.more,
    );
  }

  // Not every system shows a bar where something scrolls.
  showMore() {
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    this.more.classList.toggle("mcpsim-lab-more-none", scrollTop + clientHeight > scrollHeight - 8);
  }

  remove() {
    this.sizes.disconnect();
    super.remove();
  }

  showTemplates(templates) {
    const text = JSON.stringify(templates);
    if (this.listed === text) return;
    this.listed = text;
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.key || "" : null;
    const scrolled = this.list.scrollTop;
    const groups = new Map();
    for (const one of templates) {
      if (!groups.has(one.group)) groups.set(one.group, []);
      groups.get(one.group).push(one);
    }
    const parts = [...groups].flatMap(([name, items]) => [html("h5", {}, name), html("ul", {}, ...this.items(items))]);
    this.list.replaceChildren(...parts);
    this.list.scrollTop = scrolled;
    this.showMore();
    if (focused === null) return;
    const again = [...this.list.querySelectorAll("button")].find((each) => each.dataset.key === focused);
    (again || this.list).focus({ preventScroll: true });
  }

  // What is not allowed now, for the same reason, stands together below that reason.
  items(templates) {
    const blocked = (one) => !one.allowed && one.group !== LAB_BROKEN;
    const reasons = new Map();
    for (const one of templates.filter(blocked)) reasons.set(one.reason, [...(reasons.get(one.reason) || []), one]);
    return [...templates.filter((one) => !blocked(one)).map((one) => this.template(one)), ...[...reasons.values()].map((ones) => this.refused(ones))];
  }

  newId() {
    this.labels = (this.labels || 0) + 1;
    return `${this.id}-t${this.labels}`;
  }

  refused(ones) {
    const id = this.newId();
    const pairs = ones.map((one) => {
      const button = this.button(one.label, () => this.take(one), { "data-key": one.key, "aria-describedby": id });
      this.usable(button, false);
      const anyway = this.button("Take it anyway", () => this.take(one), { "data-key": `${one.key} anyway` });
      anyway.setAttribute("aria-label", `Take it anyway: ${one.label}`);
      return html("span", { class: "mcpsim-lab-pair" }, button, anyway);
    });
    const why = this.reason(ones[0], id);
    why.prepend(html("b", {}, "Not now: "));
    return html("li", { class: "mcpsim-lab-told" }, why, ...pairs);
  }

  reason(one, id) {
    const level = one.level ? html("span", { class: `mcpsim-lab-level mcpsim-lab-${one.level}` }, one.level) : null;
    const link = one.url ? specLink(one.url, { full: false }) : null;
    const parts = [level, level ? " " : null, ...prose(one.reason), link ? " " : null, link];
    return html("p", { id }, ...parts.filter(Boolean));
  }

  template(one) {
    const id = this.newId();
    const button = this.button(one.label, () => this.take(one), { "data-key": one.key });
    this.usable(button, true);
    if (!one.reason) {
      const hint = one.hint && this.isNews(one) ? html("p", { id }, ...prose(one.hint)) : null;
      if (hint) button.setAttribute("aria-describedby", id);
      return html("li", { class: hint ? "mcpsim-lab-told" : "" }, button, hint);
    }
    button.setAttribute("aria-describedby", id);
    return html("li", { class: "mcpsim-lab-told" }, button, this.reason(one, id));
  }

  isNews(one) {
    return one.group.startsWith("What the last") || one.key.startsWith("legacy GET") || one.key.startsWith("legacy DELETE");
  }

  take(one) {
    this.put(one.body, one.method, "/mcp", one.headers);
    this.anyway = !one.allowed;
    const said = one.reason || one.hint;
    this.note.replaceChildren(...prose(`Taken: ${one.label}. ${said}`.trim()));
    this.note.classList.toggle("mcpsim-lab-warns", !one.allowed);
    this.showSend();
    this.body.focus({ preventScroll: true });
    this.body.setSelectionRange(0, 0);
    this.body.scrollTop = 0;
  }

  put(body, method, path, headers) {
    if (body !== null) this.body.value = body;
    this.method.value = method || "POST";
    this.path.value = path || "/mcp";
    this.headers.value = headers;
  }

  // ------------------------------------------------------------------------------------- the editor

  buildEditor() {
    const typed = { spellcheck: "false", autocomplete: "off", dir: "ltr" };
    this.method = html("input", { type: "text", size: 8, value: "POST", ...typed });
    this.path = html("input", { type: "text", size: 14, value: "/mcp", ...typed });
    this.headers = html("textarea", { rows: 5, class: "mcpsim-lab-code", ...typed });
    this.body = html("textarea", { rows: 16, class: "mcpsim-lab-code", ...typed });
    this.joined = html("input", { type: "checkbox" });
    this.joined.checked = true;
    this.note = html("p", { class: "mcpsim-lab-note", "aria-live": "polite" });
    this.sender = this.button("Send", () => this.send(), { class: "mcpsim-acting-main" });
    const fit = this.button("Make the headers fit the body", () => this.ask({ do: "fit", body: JSON.stringify(this.body.value) }));
    this.http = html(
      "div",
      { class: "mcpsim-lab-http" },
      html("div", { class: "mcpsim-acting-group" }, this.field("HTTP method", this.method), this.field("Path", this.path), fit),
      this.area("HTTP headers, one a line", this.headers),
    );
    this.line = html(
      "span",
      { class: "mcpsim-acting-group" },
      this.field("Send it as one line", this.joined),
      html("span", { class: "mcpsim-acting-quiet" }, "On stdio a message is one line."),
    );
    this.bodyLabel = html("label", {});
    for (const each of [this.body, this.headers, this.method, this.path]) each.addEventListener("input", () => this.edited());
    const first = this.shown.templates.find((one) => one.allowed);
    if (first) this.put(first.body, first.method, "/mcp", first.headers);
    return html(
      "div",
      { class: "mcpsim-lab-editor" },
      // In sight, however long the message is: how to send it, and what became of it in a sentence.
      html("div", { class: "mcpsim-acting-group" }, this.sender, html("span", { class: "mcpsim-acting-quiet" }, html("kbd", {}, "Ctrl"), "+", html("kbd", {}, "Enter")), this.line),
      this.status,
      this.error,
      this.busy,
      this.http,
      this.area("Message", this.body),
      this.note,
    );
  }

  area(label, control) {
    const field = this.field(label, control);
    field.classList.add("mcpsim-lab-area");
    return field;
  }

  // Somebody wrote something else: what was said of the template does not hold any more.
  edited() {
    if (!this.anyway && !this.note.textContent) return;
    this.anyway = false;
    this.note.replaceChildren();
    this.note.classList.remove("mcpsim-lab-warns");
    this.showSend();
  }

  showSend() {
    this.sender.textContent = this.anyway ? "Send anyway" : "Send";
  }

  send() {
    // Whoever presses twice, because the answer takes its time, sends once.
    const sending = this.waiting && [this.model.get("asked"), ...this.later].some((wish) => wish.do === "send");
    if (sending || this.shown.closed) return;
    const { limit } = this.shown;
    if (this.body.value.length > limit) {
      this.say(`The message has ${this.body.value.length.toLocaleString("en")} characters, and at most ${limit.toLocaleString("en")} can be sent.`);
      return;
    }
    this.edited();
    this.ask({
      do: "send",
      body: JSON.stringify(this.body.value),
      joined: this.joined.checked,
      method: JSON.stringify(this.method.value),
      path: JSON.stringify(this.path.value),
      headers: JSON.stringify(this.headers.value),
    });
  }

  // ------------------------------------------------------------------------------------- what is shown

  show(shown) {
    this.showPlace(shown);
    this.stand(this.eras, shown.era);
    this.http.hidden = shown.transport !== "http";
    // Together with the headers as high as the message alone, so that what comes back is in sight.
    this.body.rows = shown.transport === "http" ? 9 : 15;
    this.line.hidden = shown.transport === "http";
    if (this.transport && this.transport !== shown.transport) this.headersFor(shown);
    this.transport = shown.transport;
    this.showTemplates(shown.templates);
    this.showEdit(shown.edit);
    this.say(shown.status);
    this.usable(this.sender, !shown.closed);
    this.showEntry(shown.entry);
    this.showHistory(shown);
  }

  // On another transport what stands in the editor is what is offered first.
  headersFor(shown) {
    const first = shown.templates.find((one) => one.allowed);
    if (first) this.put(first.body, first.method, "/mcp", first.headers);
    this.edited();
  }

  showEdit(edit) {
    if (edit.n === this.loaded) return;
    this.loaded = edit.n;
    const [method, path, headers] = [edit.method, edit.path, edit.headers].map((each) => JSON.parse(each));
    this.put(edit.body === null ? null : JSON.parse(edit.body), method, path, headers);
    this.edited();
  }

  showPlace(shown) {
    const { state, open } = shown;
    this.stand(this.carrier, shown.transport);
    this.session.textContent = state.text;
    const steps = state.phases.map((phase) => {
      const now = phase === state.phase;
      return html("li", now ? { "aria-current": "step" } : {}, now ? "● " : "", phase);
    });
    this.phases.replaceChildren(...steps);
    this.phases.hidden = !steps.length;
    this.time.textContent = shown.clock;
    this.usable(this.hang, !shown.closed);
    const focused = this.streams.contains(document.activeElement);
    const buttons = open.map(([exchange, label]) => this.button(`Close the stream of ${label}`, () => this.ask({ do: "close", exchange })));
    this.streams.replaceChildren(...buttons);
    if (focused) (buttons[0] || this.pass).focus({ preventScroll: true });
  }

  // ------------------------------------------------------------------------------------- one exchange

  showEntry(entry) {
    const text = JSON.stringify(entry);
    if (this.drawn === text) return;
    this.drawn = text;
    if (!entry) {
      this.result.replaceChildren(html("p", { class: "mcpsim-acting-notes" }, "Take a template or write a message, and send it."));
      return;
    }
    const more = entry.left_out ? html("p", { class: "mcpsim-acting-quiet" }, `${entry.left_out} more messages are not looked at one by one.`) : null;
    const made = html(
      "section",
      { "aria-label": `What the server made of message ${entry.number}` },
      html("h4", {}, `What the server made of ${entry.number}. `, html("bdi", {}, entry.label)),
      html("p", { class: `mcpsim-lab-verdict mcpsim-lab-is-${entry.mark}`, dir: "auto" }, ...prose(entry.verdict)),
      ...entry.messages.map((each) => this.message(each, entry.messages.length > 1)),
      more,
      ...this.findings(entry),
    );
    const none = html("p", { class: "mcpsim-acting-quiet" }, "Nothing so far.");
    const rest = entry.more ? html("p", { class: "mcpsim-acting-quiet" }, `${entry.more} more are in the recording.`) : null;
    const back = html(
      "section",
      { "aria-label": `What came back for message ${entry.number}` },
      html("h4", {}, "What came back"),
      ...(entry.came.length ? entry.came.map((step) => this.step(step)) : [none]),
      rest,
      html("h4", {}, "What was sent"),
      ...entry.sent.map((step) => this.step(step, true)),
    );
    this.result.replaceChildren(made, back);
  }

  message(message, several) {
    const parts = [];
    if (several) parts.push(html("h5", {}, html("bdi", {}, message.label)));
    if (message.era) {
      parts.push(html("p", {}, html("span", { class: "mcpsim-lab-era" }, message.era), " ", ...prose(message.why)));
    }
    parts.push(html("ol", { class: "mcpsim-lab-checks" }, ...message.checks.map((each) => this.check(each))));
    if (message.before) parts.push(this.move(message));
    return html("div", { class: "mcpsim-lab-message" }, ...parts);
  }

  check([mark, outcome, title, said, url, code]) {
    const number = code ? html("code", {}, code) : null;
    const words = said ? html("span", { class: "mcpsim-lab-said", dir: "auto" }, ...prose(said)) : null;
    const link = url ? specLink(url, { full: false }) : null;
    const parts = [number, words, link].filter(Boolean);
    return html(
      "li",
      { class: `mcpsim-lab-check mcpsim-lab-${outcome.replace(" ", "-")}` },
      html("span", { class: "mcpsim-lab-mark", "aria-hidden": "true" }, mark),
      html(
        "span",
        {},
        html("span", { class: "mcpsim-lab-title" }, title),
        " ",
        html("span", { class: "mcpsim-lab-outcome" }, outcome),
        ...parts.flatMap((part) => [" ", part]),
      ),
    );
  }

  move({ before, after, action }) {
    const moved = before === after ? `stays “${before}”` : `moves from “${before}” to “${after}”`;
    return html(
      "p",
      { class: "mcpsim-lab-move" },
      html("strong", {}, `The legacy session ${moved}.`),
      action ? ` Its table says: ${action}.` : "",
    );
  }

  findings({ findings }) {
    if (!findings.length) return [html("p", { class: "mcpsim-acting-quiet" }, "The audit has nothing to say about this exchange.")];
    const items = findings.map(([level, whose, text, hint, url]) =>
      html(
        "li",
        {},
        html("span", { class: `mcpsim-lab-level mcpsim-lab-${level}` }, level),
        " ",
        html("strong", {}, whose === "you" ? "What you sent: " : `The ${whose}: `),
        ...prose(text),
        " ",
        ...(hint ? [html("em", {}, ...prose(hint)), " "] : []),
        specLink(url, { full: false }),
      ),
    );
    return [html("h4", {}, "What the audit says"), html("ul", { class: "mcpsim-lab-findings" }, ...items)];
  }

  // A message, or something else that happened: as the player tells it.
  step(step, sent = false) {
    const kind = LAB_KINDS[step.kind] || step.kind;
    const parts = [html("p", { dir: "auto" }, ...prose(step.what))];
    if (step.rule) parts.push(html("p", { class: "mcpsim-lab-rule" }, ...prose(step.rule[0]), " ", specLink(step.rule[1], { full: false })));
    if (step.json !== null) parts.push(jsonBox(`JSON of ${kind} ${step.label}`, step.json));
    if (step.fields.length) parts.push(this.explained(step));
    if (step.raw.length) parts.push(this.raw(step));
    if (step.cut) parts.push(html("p", { class: "mcpsim-acting-quiet" }, "It is too long to be shown here; it is in the recording."));
    const summary = html(
      "summary",
      {},
      html("span", { class: `mcpsim-lab-kind mcpsim-lab-kind-${step.kind}` }, kind),
      " ",
      ...(step.head && !step.label.startsWith("HTTP") ? [html("span", { class: "mcpsim-lab-kind" }, step.head), " "] : []),
      html("bdi", {}, `${step.label} ${step.gist}`.trim()),
      " ",
      html("span", { class: "mcpsim-acting-quiet" }, step.time),
    );
    return html("details", { class: "mcpsim-lab-step", open: !sent && LAB_OPEN.has(step.kind) }, summary, ...parts);
  }

  explained(step) {
    const items = step.fields.map(([path, text, url]) =>
      html("li", {}, html("code", {}, path), " ", ...prose(text), " ", specLink(url, { full: false })),
    );
    const count = step.fields.length;
    const summary = html("summary", {}, count === 1 ? "One field explained" : `${count} fields explained`);
    return html("details", {}, summary, html("ul", { class: "mcpsim-lab-fields" }, ...items));
  }

  raw(step) {
    const blocks = step.raw.flatMap(([title, text]) => [html("h5", {}, title), jsonBox(`${title} of ${step.label}`, text)]);
    return html("details", {}, html("summary", {}, "Raw bytes"), ...blocks);
  }

  // ------------------------------------------------------------------------------------- history

  showHistory({ history, entry }) {
    const text = JSON.stringify([history, entry && entry.number]);
    if (this.told === text) return;
    this.told = text;
    const focused = this.history.contains(document.activeElement) ? document.activeElement.dataset.key : "";
    this.history.hidden = !history.length;
    const items = history.map(([number, label, mark, short]) => {
      const now = entry && entry.number === number;
      const button = this.button("", () => this.ask({ do: "show", number }), { "data-key": number });
      if (now) button.setAttribute("aria-current", "true");
      button.append(`${number}. `, html("bdi", {}, label), " ", html("span", { class: `mcpsim-lab-short mcpsim-lab-is-${mark}` }, short));
      return html("li", {}, button);
    });
    this.history.replaceChildren(
      html("h4", {}, "What you sent so far"),
      html("p", { class: "mcpsim-acting-quiet" }, "Press one to see it again, and to have it in the editor."),
      html("ol", { class: "mcpsim-lab-entries" }, ...items),
    );
    const again = focused && this.history.querySelector(`button[data-key="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
  }
}
