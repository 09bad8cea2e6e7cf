// The panes beside the diagram: the message, its raw bytes, and what the parties remember.

const PANES = { message: "Message", raw: "Raw bytes", memory: "Memory" };

// Below the title of the page that a player can be; in a notebook there is no telling what they are below.
const PANE_HEADING = { "aria-level": "2" };

// Of a long HTTP exchange: how it began, and what came just before this message.
const EXCHANGE_HEAD = 2;
const EXCHANGE_TAIL = 6;

// A length of time for people.
function timeSpan(us) {
  if (us < 1_000_000) return `${Number((us / 1_000).toPrecision(4))} ms`;
  if (us < 120_000_000) return `${Number((us / 1_000_000).toFixed(3))} s`;
  if (us < 7_200_000_000) return `${Number((us / 60_000_000).toPrecision(4))} min`;
  return `${Number((us / 3_600_000_000).toPrecision(4))} h`;
}

// Put text into the clipboard; false where the browser does not allow it. A page that came over plain HTTP
// from another host has no clipboard of its own, so there it is done as it was before there was one.
async function copyText(text, near) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const back = document.activeElement;
    const area = html("textarea", { class: "mcpsim-away", tabindex: "-1", "aria-hidden": "true" });
    area.value = text;
    near.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    if (back && back.focus) back.focus({ preventScroll: true });
    return done;
  }
}

class Panes {
  constructor(view) {
    this.view = view;
    this.tab = "message";
    // What is unfolded stays so from step to step.
    this.unfolded = { meta: true, compared: true, state: true, following: false };
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
    this.exchanges = new Map();
    for (const step of this.view.data.steps) {
      if (!step.exchange) continue;
      if (!this.exchanges.has(step.exchange)) this.exchanges.set(step.exchange, []);
      this.exchanges.get(step.exchange).push(step);
    }
    this.said = html("p", { class: "mcpsim-copied", role: "status" });
    return html("div", { class: "mcpsim-panel" }, strip, this.said, ...Object.values(this.panes));
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
    const changed =
      cursor > 0 &&
      !isComing(this.view.data, "rest") &&
      (this.view.data.memory.some((party) => party.at.some((entry) => entry.step === cursor)) ||
        this.view.data.held.some((one) => one.from === cursor || one.until === cursor));
    this.said.replaceChildren();
    this.tabs.memory.classList.toggle("mcpsim-news", changed);
    this.tabs.memory.replaceChildren("Memory", ...(changed ? [html("span", { class: "mcpsim-badge" }, "changed")] : []));
    const pane = this.panes[this.tab];
    const own = {
      message: () => this.messagePane(step),
      raw: () => this.rawPane(step),
      memory: () => this.memoryPane(cursor),
    };
    const focus = pane.contains(document.activeElement) ? document.activeElement : null;
    const keep = focus && focus.dataset.keep;
    pane.replaceChildren(...(own[this.tab] ? own[this.tab]() : this.more.get(this.tab).show(step, cursor)));
    // What had the focus is gone: its like takes it, or the pane, so that the keys go on working.
    if (focus && focus !== pane) {
      const like = keep ? [...pane.querySelectorAll("[data-keep]")].find((one) => one.dataset.keep === keep) : null;
      (like || pane).focus({ preventScroll: true });
    }
    pane.scrollTop = 0;
    const marked = pane.querySelector("[data-here]");
    if (marked) pane.scrollTop = marked.offsetTop - pane.offsetTop - 8;
  }

  // Draw the pane once more, where it is.
  again() {
    const top = this.panes[this.tab].scrollTop;
    this.show();
    this.panes[this.tab].scrollTop = top;
  }

  copyButton(label, text) {
    const button = html("button", { type: "button", class: "mcpsim-small", "data-keep": label }, label);
    button.addEventListener("click", async () => {
      const all = text();
      const done = await copyText(all, this.view.root);
      this.said.textContent = done
        ? `Copied: ${all.length.toLocaleString("en")} character${all.length === 1 ? "" : "s"}.`
        : "This browser does not let the page copy. Select the text, and copy it with Ctrl+C (or ⌘C).";
    });
    return button;
  }

  // A part that can be folded away, and stays so from step to step.
  folding(name, title, ...children) {
    const kept = name.replace("-too", "");
    const box = html("details", { class: `mcpsim-part-${name}`, open: this.unfolded[kept] });
    const summary = html("summary", { tabindex: "0", "data-keep": name }, title);
    box.append(summary, ...children);
    // The event of the change itself comes later, when the next step may be shown already.
    summary.addEventListener("click", () => (this.unfolded[kept] = !box.open));
    box.addEventListener("toggle", () => {
      if (box.isConnected) this.unfolded[kept] = box.open;
    });
    return box;
  }

  stepButton(step) {
    const button = html("button", { type: "button", class: "mcpsim-small" }, `Go to step ${step}`);
    button.addEventListener("click", () => this.view.go(step));
    return button;
  }

  messagePane(step) {
    if (!step) return [html("p", { class: "mcpsim-quiet" }, "No message yet.")];
    if (step.coming) return [html("p", { class: "mcpsim-quiet" }, ON_ITS_WAY)];
    if (step.asked) return this.askedPane(step);
    if (!step.frame) return [html("p", { class: "mcpsim-quiet" }, "This step is not a message: nothing crosses the wire.")];
    const parts = [];
    const travel = html("p", { class: "mcpsim-travel" }, this.travel(step));
    if (lacksBody(step)) return [travel, html("p", { class: "mcpsim-quiet" }, "The message is still on its way to this page.")];
    if (step.json === null) {
      parts.push(travel, html("p", { class: "mcpsim-quiet" }, this.unreadable(step)));
    } else {
      const tools = [...step.compared.slice(0, 1).map((one) => this.jump(one)), this.copyButton("Copy JSON", () => step.json)];
      parts.push(html("div", { class: "mcpsim-bar-of" }, travel, ...tools), this.json(step));
    }
    parts.push(...step.compared.map((one, i) => this.compared(one, i)));
    if (step.state >= 0) parts.push(this.stateInside(step.state));
    if (step.fields.length) parts.push(...this.fields(step));
    return parts;
  }

  // What a user or a host is asked, and answers: MCP does not say how, so there is no message of it.
  askedPane(step) {
    const { text, fields, json, carried } = step.asked;
    const asks = step.kind === "question";
    const shown = carried && (asks || !this.view.hiding || carried <= this.view.cursor);
    const told = asks ? `The question came with step ${carried}.` : `The answer goes out with step ${carried}.`;
    const parts = [
      html("p", { class: "mcpsim-quiet" }, "Between the client and whoever it asks nothing crosses the wire: this is no message of MCP. ", shown ? told : ""),
      shown ? html("div", { class: "mcpsim-bar-of" }, this.stepButton(carried), json ? this.copyButton("Copy JSON", () => json) : null) : null,
      text ? html("blockquote", { class: "mcpsim-asked", dir: "auto" }, text) : null,
      fields.length ? html("ul", { class: "mcpsim-asked-fields" }, ...fields.map(([label, what]) => html("li", { dir: "auto" }, html("b", {}, html("bdi", {}, label)), what ? `: ${what}` : ""))) : null,
    ];
    if (json) {
      const lines = json.split("\n").map((line) => {
        const row = html("div", { class: "mcpsim-line" }, ...this.tokens(line.trimStart()));
        row.style.paddingLeft = `${line.length - line.trimStart().length + 2}ch`;
        return row;
      });
      parts.push(html("h4", PANE_HEADING, asks ? "What the server asks" : "What the client sends as the answer"), html("div", { class: "mcpsim-json", dir: "ltr" }, ...lines));
    } else if (!asks) {
      parts.push(html("p", { class: "mcpsim-quiet" }, "No message takes an answer out after this step."));
    }
    return parts.filter(Boolean);
  }

  unreadable(step) {
    if (step.kind === "malformed") return "It cannot be read as a message, for the reason above. Look at the raw bytes.";
    return "There is no JSON in it. Look at the raw bytes.";
  }

  travel(step) {
    const exchange = step.exchange ? ` HTTP exchange ${step.exchange}.` : "";
    const left = `Left at ${step.time}`;
    if (step.fate === "dropped") return `${left}, and was lost.${exchange}`;
    if (step.fate === "in flight") return `${left}, and had not arrived at the end.${exchange}`;
    // A trace from elsewhere has one time a message: that of whoever wrote it down.
    if (!step.took) return `Seen at ${step.time}${step.connection ? `, on connection ${step.connection}` : ""}.${exchange}`;
    return `${left}, on the way for ${step.took}.${exchange}`;
  }

  json(step) {
    const numbers = new Map();
    step.fields.forEach(([, , line], i) => {
      if (line >= 0 && !numbers.has(line)) numbers.set(line, i + 1);
    });
    const signs = new Map();
    for (const { rows } of step.compared) {
      for (const [, kind, , , line] of rows) if (line >= 0 && !signs.has(line)) signs.set(line, kind);
    }
    const texts = step.json.split("\n");
    const rows = texts.map((line, i) => {
      const indent = line.length - line.trimStart().length;
      const row = html("div", { class: "mcpsim-line", "data-line": i }, ...this.tokens(line.trimStart()));
      row.style.paddingLeft = `${indent + 2}ch`;
      if (numbers.has(i)) {
        row.classList.add("mcpsim-explained");
        row.append(html("sup", { class: "mcpsim-ref" }, numbers.get(i)));
      }
      const kind = signs.get(i);
      if (kind) {
        row.classList.add(`mcpsim-now-${kind}`);
        row.append(html("span", { class: "mcpsim-sign", title: `${kind}: see below` }, { added: "+", changed: "≠" }[kind]));
      }
      return row;
    });
    // The keys of `_meta` are about the message and not part of what it says: they stand apart.
    let at = 0;
    const shown = [];
    for (const [first, last] of step.meta) {
      if (first < at) continue;
      shown.push(...rows.slice(at, first), this.metaBlock(rows, texts, first, last, shown.length));
      at = last + 1;
    }
    shown.push(...rows.slice(at));
    return html("div", { class: "mcpsim-json", dir: "ltr" }, ...shown);
  }

  metaBlock(rows, texts, first, last, number) {
    const block = rows.slice(first, last + 1);
    if (first === last) return html("div", { class: "mcpsim-meta" }, ...block);
    const open = this.unfolded.meta;
    const button = html("button", { type: "button", class: "mcpsim-fold", "aria-expanded": String(open), "data-keep": `fold ${number}` });
    button.append(open ? "fold" : "unfold");
    button.setAttribute("aria-label", open ? "Fold the _meta keys" : "Unfold the _meta keys");
    button.addEventListener("click", () => {
      this.unfolded.meta = !open;
      this.again();
    });
    const count = last - first - 1;
    if (!open) block[0].append(html("span", { class: "mcpsim-quiet" }, ` ${count} line${count === 1 ? "" : "s"} `), texts[last].trim());
    block[0].append(button);
    return html("div", { class: "mcpsim-meta" }, ...(open ? block : block.slice(0, 1)));
  }

  // Below a long message nobody looks for what changed.
  jump(one) {
    const label = `${one.step ? `Step ${one.step}` : "Sent"}: ${this.count(one)}`;
    const button = html("button", { type: "button", class: "mcpsim-small", "aria-label": `${label}, show` }, label);
    button.addEventListener("click", () => {
      const box = this.panes.message.querySelector(".mcpsim-part-compared");
      box.open = true;
      box.scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
      box.querySelector("summary").focus({ preventScroll: true });
    });
    return button;
  }

  count(one) {
    const count = one.rows.length + one.more;
    return count ? `${count.toLocaleString("en")} difference${count === 1 ? "" : "s"}` : "no difference";
  }

  compared(one, place) {
    const count = one.rows.length + one.more;
    const against = one.step ? `step ${one.step}, ${one.what}` : one.what;
    const title = `Compared with ${against}: ${this.count(one)}`;
    const rows = one.rows.map(([path, kind, before, after, line]) => {
      const values = { added: [after], removed: [before], changed: [before, after] }[kind];
      const item = html(
        "li",
        { class: `mcpsim-diff mcpsim-diff-${kind}` },
        html("span", { class: "mcpsim-diff-kind" }, { added: "+ added", removed: "− removed", changed: "≠ changed" }[kind]),
        " ",
        html("code", { class: "mcpsim-path" }, path),
        ...values.map((value, i) =>
          html(
            "div",
            { class: "mcpsim-diff-value" },
            kind === "changed" ? html("span", { class: "mcpsim-quiet" }, i ? "now " : "was ") : null,
            html(kind === "removed" || (kind === "changed" && !i) ? "del" : "ins", { dir: "auto" }, value),
          ),
        ),
      );
      this.lightUp(item, line);
      return item;
    });
    return this.folding(
      place ? "compared-too" : "compared",
      title,
      one.step ? this.stepButton(one.step) : null,
      count
        ? html("ul", { class: "mcpsim-diffs" }, ...rows, one.more ? html("li", { class: "mcpsim-quiet" }, `and ${one.more.toLocaleString("en")} more`) : null)
        : html("p", { class: "mcpsim-quiet" }, "Nothing: what is said is the same in both."),
    );
  }

  lightUp(item, line) {
    const light = (on) => {
      const row = this.panes.message.querySelector(`.mcpsim-line[data-line="${line}"]`);
      if (row) row.classList.toggle("mcpsim-lit", on);
    };
    item.addEventListener("mouseenter", () => light(true));
    item.addEventListener("mouseleave", () => light(false));
  }

  stateInside(position, label = "") {
    const { text, size, inside, given } = this.view.data.states[position];
    const title = `Request state${label ? ` of ${label}` : ""}: what the server sees inside`;
    const rows = inside.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", { dir: "auto" }, value)));
    const why = given
      ? "The client cannot know what is in it: to the client it is opaque, and it goes back unchanged. It is sealed with a signature."
      : "No server gave this one in this recording. The signature tells whether a server sealed it: the server checks that before it believes anything here.";
    return this.folding(
      "state",
      title,
      html("p", { class: "mcpsim-quiet" }, "As it travels: ", html("code", { dir: "ltr" }, text), ` (${size.toLocaleString("en")} characters)`),
      rows.length
        ? html("div", {}, html("p", { class: "mcpsim-quiet" }, why), html("dl", { class: "mcpsim-inside" }, ...rows))
        : html("p", { class: "mcpsim-quiet" }, "Only the server that made it can read it. To the client it is opaque, and it goes back unchanged."),
    );
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
      this.lightUp(item, line);
      return [path.split(".").includes("_meta"), item];
    });
    const list = (title, wanted) => {
      const found = items.filter(([inMeta]) => inMeta === wanted).map(([, item]) => item);
      return found.length ? [html("h4", PANE_HEADING, title), html("ol", { class: "mcpsim-fields" }, ...found)] : [];
    };
    return [
      ...list("Fields that matter", false),
      ...list("In _meta: about the message, beside what it says", true),
    ];
  }

  rawPane(step) {
    if (step && step.coming) return [html("p", { class: "mcpsim-quiet" }, ON_ITS_WAY)];
    if (!step || !step.frame) return [html("p", { class: "mcpsim-quiet" }, "No bytes cross the wire at this step.")];
    const copy = [this.copyButton("Copy this message", () => this.rawText([step]))];
    if (!step.exchange) return [html("div", { class: "mcpsim-bar-of" }, ...copy), ...this.rawBlocks(step)];
    const all = this.exchanges.get(step.exchange);
    const here = all.indexOf(step);
    const after = this.view.hiding ? [] : all.slice(here + 1);
    const following = this.unfolded.following ? after.slice(0, EXCHANGE_TAIL) : [];
    const skipped = Math.max(0, here - EXCHANGE_HEAD - EXCHANGE_TAIL);
    const before = skipped ? [...all.slice(0, EXCHANGE_HEAD), ...all.slice(here - EXCHANGE_TAIL, here)] : all.slice(0, here);
    const shown = [...before, step, ...following];
    const parts = shown.map((each) => this.exchangePart(each, each === step));
    if (skipped) {
      const count = `${skipped.toLocaleString("en")} message${skipped === 1 ? "" : "s"} of this exchange left out here`;
      parts.splice(EXCHANGE_HEAD, 0, html("p", { class: "mcpsim-quiet" }, count));
    }
    if (shown.length > 1) copy.push(this.copyButton("Copy the exchange", () => this.rawText(shown)));
    const title = html("p", { class: "mcpsim-travel" }, `HTTP exchange ${step.exchange}, as far as it has come`);
    const rest = after.length - following.length;
    if (after.length) {
      const what = this.unfolded.following ? "Hide what follows" : `Show what follows (${after.length.toLocaleString("en")})`;
      const button = html("button", { type: "button", class: "mcpsim-small", "data-keep": "follow" }, what);
      button.setAttribute("aria-expanded", String(this.unfolded.following));
      button.addEventListener("click", () => {
        this.unfolded.following = !this.unfolded.following;
        this.again();
      });
      if (this.unfolded.following && rest) parts.push(html("p", { class: "mcpsim-quiet" }, `and ${rest.toLocaleString("en")} more`));
      parts.push(button);
    }
    return [html("div", { class: "mcpsim-bar-of" }, title, ...copy), ...parts];
  }

  exchangePart(step, here) {
    const part = html("div", { class: `mcpsim-piece${here ? " mcpsim-here" : ""}`, "data-here": here || null });
    const label = html("p", { class: "mcpsim-piece-label" }, html("bdi", {}, step.from), " → ", html("bdi", {}, step.to), ` at ${step.time} `);
    label.append(here ? html("strong", {}, `step ${step.n}: this message`) : this.stepButton(step.n));
    part.append(label, ...this.rawBlocks(step));
    if (step.fate !== "delivered") part.append(html("p", { class: "mcpsim-quiet" }, step.fate === "dropped" ? "It was lost." : "It had not arrived at the end."));
    return part;
  }

  rawBlocks(step) {
    if (lacksBody(step)) return [html("p", { class: "mcpsim-quiet" }, "The message is still on its way to this page.")];
    return (step.raw || []).flatMap(([title, text]) => [html("h4", PANE_HEADING, title), this.rawBlock(text)]);
  }

  // Without the marks of the newlines, which are there for the eye.
  rawText(steps) {
    return steps.filter((step) => step.raw).map((step) => step.raw[0][1].replaceAll("⏎\n", "\n").replace(/⏎$/, "\n")).join("\n");
  }

  rawBlock(text) {
    const parts = text.split("⏎").flatMap((part, i) => (i ? [html("span", { class: "mcpsim-newline", title: "newline" }, "⏎"), part] : [part]));
    return html("pre", { class: "mcpsim-raw", dir: "ltr", tabindex: "0" }, ...parts);
  }

  memoryPane(cursor) {
    if (isComing(this.view.data, "rest")) return [html("p", { class: "mcpsim-quiet" }, "What the parties remember is still on its way to this page.")];
    const { requests, steps, held } = this.view.data;
    const cards = this.parties().map(([name, party, history]) => this.memoryCard(name, party, history, cursor));
    const open = requests.filter((one) => one.opened <= cursor && (one.ended === null || one.ended > cursor));
    // Who works on a request need not know yet that nobody waits for it any more.
    const at = (step) => step !== null && step <= cursor;
    const worked = requests.filter((one) => at(one.reached) && !at(one.answered) && !(one.outcome !== "open" && at(one.ended)));
    const ended = requests.filter((one) => cursor > 0 && one.ended === cursor);
    const travelling = steps.slice(0, cursor).filter((step) => step.to && step.fate === "delivered" && step.arrives > cursor);
    const states = held.filter((one) => one.from <= cursor && (one.until === null || one.until >= cursor)).slice(-3);
    return [
      html("div", { class: "mcpsim-cards" }, ...cards),
      ...states.map((one) => this.stateInside(one.state, one.label)),
      html("h4", PANE_HEADING, "Requests in flight"),
      this.simpleList(
        [
          ...open.map((one) => `${one.label} — ${one.from} waits for ${one.to}, since step ${one.opened}${one.opened === cursor ? " (new)" : ""}`),
          ...worked.map((one) => `${one.label} — ${one.to} has it since step ${one.reached}, and has not answered`),
        ],
        "none",
      ),
      ...(ended.length
        ? [
            html("h4", PANE_HEADING, "Ended at this step"),
            this.simpleList(ended.map((one) => `${one.label} of ${one.from}: ${one.outcome}`), "none"),
          ]
        : []),
      ...(travelling.length
        ? [
            html("h4", PANE_HEADING, "Still on the way"),
            this.simpleList(travelling.map((step) => `${step.label} (step ${step.n}), to ${step.to}`), "nothing"),
          ]
        : []),
    ];
  }

  parties() {
    // Users and hosts are no parties of the protocol.
    const { memory, parties, beside = [] } = this.view.data;
    const known = memory.map((entry) => [
      entry.connection ? `${entry.party}, connection ${entry.connection}` : entry.party,
      entry.party,
      entry.at,
    ]);
    const named = new Set(memory.map((entry) => entry.party));
    const silent = parties.filter((party) => !named.has(party) && !beside.includes(party)).map((party) => [party, party, null]);
    return [...known, ...silent];
  }

  memoryCard(name, party, history, cursor) {
    let entry = null;
    for (const each of history || []) if (each.step <= cursor) entry = each;
    const news = entry && cursor > 0 && entry.step === cursor;
    const rows = entry ? entry.rows.filter((row) => row[2] !== "forgotten" || news) : [];
    const states = this.view.data.held.filter(
      (one) => one.party === party && one.from <= cursor && (one.until === null || one.until >= cursor),
    );
    const shown = [
      ...rows.map((row) => this.memoryRow(row, news, cursor)),
      ...states.map((one) => this.heldState(one, cursor)),
    ];
    const nothing = prose(this.view.data.nothing[party] || "Nothing.");
    const body = shown.length ? html("dl", {}, ...shown) : html("p", { class: "mcpsim-nothing" }, ...nothing);
    return html("div", { class: "mcpsim-card" }, html("h4", PANE_HEADING, html("bdi", {}, name), " remembers"), body);
  }

  memoryRow([key, value, change, until, since], news, cursor) {
    const row = this.entry(key, value, news ? change : "");
    if (until === undefined) return row;
    const step = this.view.data.steps[cursor - 1];
    const left = until - (step ? step.at_us : 0);
    const words = left > 0 ? `fresh for ${timeSpan(left)} more` : `stale for ${timeSpan(-left)} by now`;
    const share = clamp(left / Math.max(1, until - since), 0, 1);
    const meter = html("span", { class: "mcpsim-left", "aria-hidden": "true" }, html("span", {}));
    meter.firstChild.style.width = `${Math.round(share * 100)}%`;
    row.append(html("dd", { class: left > 0 ? "mcpsim-time-left" : "mcpsim-time-left mcpsim-stale" }, meter, words));
    return row;
  }

  heldState({ label, state, from, until }, cursor) {
    const { text, size } = this.view.data.states[state];
    const change = from === cursor ? "new" : until === cursor ? "given back" : "";
    return this.entry(`request state for ${label}`, `${text.slice(0, 32)}… (${size.toLocaleString("en")} characters, opaque to this party)`, change);
  }

  entry(key, value, change) {
    const tag = change ? html("span", { class: `mcpsim-change mcpsim-${change.replace(" ", "-")}` }, change) : null;
    return html("div", { class: tag ? "mcpsim-fresh" : "" }, html("dt", {}, html("bdi", {}, key), tag ? " " : null, tag), html("dd", { dir: "auto" }, value));
  }

  simpleList(texts, none) {
    if (!texts.length) return html("p", { class: "mcpsim-nothing" }, none);
    const shown = texts.slice(0, 50).map((text) => html("li", { dir: "ltr" }, text));
    if (texts.length > shown.length) shown.push(html("li", {}, `and ${texts.length - shown.length} more`));
    return html("ul", {}, ...shown);
  }
}
