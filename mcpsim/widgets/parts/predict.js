// Predict: what comes next is hidden, and chosen from a few before it is shown.
//
// What there is to choose comes from mcpsim.widgets.prediction. A choice that is skipped does not count.

const PREDICTED = {
  request: ["request", "request: "],
  notification: ["notification", "notification: "],
  result: ["response", "result of "],
  input: ["response", "a result that asks for input, of "],
  error: ["error", "error in answer to "],
};

class Predict {
  static KEYS = [
    ["q", "predict what comes next"],
    ["1–4", "choose, while you predict; Esc ends it"],
  ];

  constructor(view) {
    this.view = view;
    this.on = false;
    // By step: which choice it was, and whether it was right. It belongs to these data.
    this.answers = new Map();
    this.score = { right: 0, asked: 0 };
    this.told = null;
    this.data = null;
  }

  tools() {
    this.button = this.view.toggle("Predict", () => this.toggle(), this.on);
    this.button.title = "Predict what comes next (q)";
    return [this.button];
  }

  bar() {
    this.result = html("p", { class: "mcpsim-predict-result", role: "status", tabindex: "-1" });
    this.question = html("div", { class: "mcpsim-predict-question" });
    this.panel = html(
      "section",
      { class: "mcpsim-predict", "aria-label": "Predict", hidden: !this.on },
      this.result,
      this.question,
    );
    return this.panel;
  }

  built() {
    if (this.data !== this.view.data) {
      this.data = this.view.data;
      this.answers.clear();
      this.told = null;
    }
  }

  hides(step) {
    return this.on && step.n > this.view.cursor;
  }

  onKey(event) {
    if (event.key === "q") {
      this.toggle();
      return true;
    }
    if (this.on && event.key === "ArrowDown" && document.activeElement === this.result) {
      this.focusFirst();
      return true;
    }
    if (!this.on || event.altKey || !/^[0-9]$/.test(event.key)) return false;
    const choices = this.choices();
    if (!choices) {
      // Whoever answers fast presses one digit too many: it must not become the number of a step.
      this.view.say("A digit chooses while you predict, and here is nothing to choose. ", html("kbd", {}, "g"), " goes to a step by its number.");
      return true;
    }
    const choice = Number(event.key) - 1;
    if (choice < 0 || choice >= choices.length) return true;
    this.choose(choice);
    // Whoever presses Enter after a digit means that digit, and not the first choice of what is asked next.
    if (this.choices()) this.result.focus({ preventScroll: true });
    // A wrong digit is none of the numbers of steps while there is a question.
    return true;
  }

  onEscape() {
    if (!this.on) return false;
    this.toggle();
    return true;
  }

  // What there is to choose about the next step, or null where nothing is asked.
  choices() {
    const found = this.view.data.predictions?.asked[this.view.cursor + 1];
    return found && !this.answers.has(this.view.cursor + 1) ? found : null;
  }

  toggle() {
    const view = this.view;
    this.on = !this.on;
    this.panel.hidden = !this.on;
    this.button.setAttribute("aria-pressed", String(this.on));
    this.told = null;
    if (this.on) {
      // Each start begins anew: a score belongs to one time through.
      this.answers.clear();
      this.score = { right: 0, asked: 0 };
      this.wasHiding = view.hiding;
      if (view.model.get("playing")) view.play();
    }
    // What is hidden elsewhere of what is to come is hidden here as well.
    if (view.hiding !== (this.on || this.wasHiding)) view.toggleHiding();
    else view.refresh();
    this.show();
    if (this.on) this.focusFirst();
    else view.root.focus({ preventScroll: true });
  }

  moved(step, cursor) {
    if (!this.on) return;
    if (this.told && this.told.step !== cursor) this.told = null;
    const inside = this.panel.contains(document.activeElement);
    this.view.refresh();
    this.show();
    if (inside) this.focusFirst();
  }

  piecesCame() {
    if (!this.on || !this.absent || isComing(this.view.data, "findings")) return;
    const inside = this.panel.contains(document.activeElement);
    this.show();
    if (inside) this.focusFirst();
  }

  focusFirst() {
    (this.question.querySelector("button") || this.view.root).focus({ preventScroll: true });
  }

  show() {
    const cursor = this.view.cursor;
    const next = cursor + 1;
    const score = html("span", { class: "mcpsim-predict-score" }, `Score: ${this.score.right} of ${this.score.asked}`);
    this.result.replaceChildren(...(this.told ? this.told.nodes : []));
    this.result.classList.toggle("mcpsim-predict-wrong", Boolean(this.told && !this.told.right));
    if (cursor >= this.view.last) {
      this.question.replaceChildren(html("p", {}, "That was the last step. ", score));
      return;
    }
    const choices = this.choices();
    this.absent = isComing(this.view.data, "findings");
    if (!choices) {
      const known = this.view.data.audited === false
        ? "Nothing is asked here: what is left out of the questions would say where something is wrong."
        : this.answers.has(next)
          ? "You have predicted the next step."
          : isComing(this.view.data, "findings")
            ? "What there is to choose is still on its way to this page."
            : "The next step is not asked about. It is no message of MCP, or it repeats, or nothing else could come.";
      const button = html("button", { type: "button" }, "Show it");
      button.addEventListener("click", () => this.view.go(next));
      this.question.replaceChildren(html("p", {}, `${known} `, button, " ", score));
      return;
    }
    const buttons = choices.map(([move], i) => {
      const button = html("button", { type: "button" }, html("kbd", { "aria-hidden": "true" }, i + 1), ...this.move(move));
      button.addEventListener("click", () => this.choose(i));
      return button;
    });
    const list = html("div", { class: "mcpsim-predict-choices", role: "group", "aria-label": `What is step ${next}?` }, ...buttons);
    list.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      const here = buttons.indexOf(document.activeElement);
      buttons[(here + by + buttons.length) % buttons.length].focus();
      this.view.handled(event);
    });
    this.question.replaceChildren(html("p", {}, html("b", {}, `What is step ${next}?`), " ", score), list);
  }

  move(position) {
    const [from, to, kind, method] = this.view.data.predictions.moves[position];
    const [shape, word] = PREDICTED[kind];
    const route = [html("bdi", {}, from), " → ", html("bdi", {}, to)];
    return [mark(shape), html("span", {}, ...route, `: ${word}`, html("code", {}, method))];
  }

  choose(choice) {
    const choices = this.choices();
    const next = this.view.cursor + 1;
    const [move, reason] = choices[choice];
    const right = reason < 0;
    this.answers.set(next, right);
    this.score.asked += 1;
    this.score.right += right ? 1 : 0;
    const chosen = html("span", { class: "mcpsim-predict-chosen" }, ...this.move(move));
    const nodes = [html("b", {}, right ? "✓ Right: " : "✗ Wrong: "), chosen];
    if (!right) {
      const [text, url] = this.view.data.predictions.reasons[reason];
      nodes.push(". ", ...prose(text), " ", specLink(url, { full: false }));
    }
    this.told = { step: next, right, nodes };
    this.view.go(next);
  }
}
