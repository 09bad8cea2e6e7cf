// The elicitation form: a server's question, three ways to answer it, and the answer as it travels.
//
// Each field is checked when it is left, in plain words; Python checks the answer again.

function renderForm({ model, el }) {
  const view = new FormView(model, el, "form");
  return () => view.remove();
}

const ELICITATION_FORMATS = {
  email: [/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/u, "an e-mail address"],
  uri: [/^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+$/, "a URI with its scheme, such as https://example.com/"],
  date: [/^\d{4}-\d{2}-\d{2}$/, "a day, such as 2026-07-28"],
  "date-time": [
    /^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/,
    "a day and time with its offset, such as 2026-07-28T10:30:00Z",
  ],
};

const ELICITATION_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

// Characters that cannot be seen, or that turn text round. As escapes they are the same JSON.
const FORM_UNSEEN = /[\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

function escapeInJson(character) {
  return [...Array(character.length)].map((_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
}

function isDay(text) {
  const [year, month, day] = text.slice(0, 10).split("-").map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

// What is wrong with the value of a field, a sentence each; undefined is a field that is left empty.
function elicitationFaults(field, value) {
  const { kind, limits, format, options } = field;
  if (value === undefined) return field.required && !field.has_default ? ["is required."] : [];
  const faults = [];
  const has = (name) => name in limits;
  if (kind === "string") {
    const length = [...value].length;
    if (has("minLength") && length < limits.minLength) faults.push(`must have ${limits.minLength} characters or more.`);
    if (has("maxLength") && length > limits.maxLength) faults.push(`must have ${limits.maxLength} characters or less.`);
    const [pattern, name] = ELICITATION_FORMATS[format] || [null, ""];
    if (pattern && !(pattern.test(value) && (!format.startsWith("date") || isDay(value)))) faults.push(`must be ${name}.`);
  } else if (kind === "number" || kind === "integer") {
    if (typeof value !== "number" || !Number.isFinite(value)) return [`must be a ${kind === "integer" ? "whole " : ""}number.`];
    if (kind === "integer" && !Number.isInteger(value)) return ["must be a whole number."];
    if (kind === "integer" && !Number.isSafeInteger(value)) return ["is too large for a browser to keep exactly."];
    if (has("minimum") && value < limits.minimum) faults.push(`must be ${limits.minimum} or more.`);
    if (has("maximum") && value > limits.maximum) faults.push(`must be ${limits.maximum} or less.`);
  } else if (kind === "choices") {
    if (has("minItems") && value.length < limits.minItems) faults.push(`at least ${limits.minItems} must be chosen.`);
    if (has("maxItems") && value.length > limits.maxItems) faults.push(`at most ${limits.maxItems} may be chosen.`);
  } else if (kind === "choice" && !options.some(([each]) => each === value)) faults.push("must be one of the options.");
  return faults;
}

class FormView extends ActingView {
  build() {
    this.asks = html("span", { class: "mcpsim-acting-quiet" });
    this.history = html("ol", { class: "mcpsim-form-history", "aria-label": "Answers so far" });
    this.undo = this.button("Take the last answer back", () => this.ask({ do: "undo" }));
    this.again = this.button("Start the run again", () => this.ask({ do: "again" }));
    this.replay = html("div", { class: "mcpsim-acting-tools" }, this.undo, this.again);
    this.box = html("div", { class: "mcpsim-form-box" });
    this.carried = html("div", { class: "mcpsim-form-carried" });
    this.settled = false;
    this.wire = html("pre", { class: "mcpsim-json mcpsim-acting-json", role: "group", "aria-label": "What crossed the wire so far", tabindex: "0" });
    this.details = html("details", { class: "mcpsim-form-wire" }, html("summary", {}, "What crossed the wire so far"), this.wire);
    const links = this.shown.urls.flatMap((url) => [" ", specLink(url, { full: true })]);
    this.root.append(
      this.head(this.asks),
      this.replay,
      this.history,
      this.box,
      this.error,
      this.status,
      this.busy,
      this.carried,
      this.details,
      html("p", { class: "mcpsim-acting-notes" }, "A form is a flat object of simple fields, so that every client can show it. Servers MUST NOT ask for secrets with a form.", ...links),
    );
    this.inputs = new Map();
  }

  show(shown) {
    const { form, replays } = shown;
    this.asks.replaceChildren(...(form ? ["Asked by the server ", html("b", {}, html("bdi", {}, form.server))] : []));
    this.replay.hidden = !replays;
    this.usable(this.undo, shown.history.length > 0);
    this.usable(this.again, shown.history.length > 0);
    this.history.hidden = shown.history.length === 0;
    this.history.replaceChildren(...shown.history.map((text) => html("li", { dir: "auto" }, text)));
    // In a run the answer was to the question before.
    this.settled = Boolean(shown.answer) && !replays && !Object.keys(shown.faults).length;
    if (this.key !== shown.key) this.rebuild(shown);
    this.showChosen();
    for (const [name, input] of this.inputs) this.showFaults(input, Object.hasOwn(shown.faults, name) ? shown.faults[name] : this.checked(input));
    this.say(shown.status);
    this.showCarried(shown);
    this.details.hidden = !shown.transcript;
    this.wire.textContent = shown.transcript;
  }

  // After an answer what was sent stands where it was shown what would be, until a field is changed.
  showChosen() {
    const { answer } = this.shown;
    const chosen = this.settled && answer ? JSON.parse(answer).action : "";
    for (const button of this.box.querySelectorAll("button[data-action]")) {
      const { action } = button.dataset;
      button.classList.toggle("mcpsim-acting-main", action === (chosen || "accept"));
      button.classList.toggle("mcpsim-form-chosen", action === chosen);
      if (chosen) button.setAttribute("aria-current", String(action === chosen));
      else button.removeAttribute("aria-current");
    }
    if (!this.wouldBe) return;
    if (!chosen && !this.box.contains(this.wouldBe)) this.box.append(this.wouldBe);
    if (chosen && this.box.contains(this.wouldBe)) this.carried.after(this.wouldBe);
  }

  rebuild(shown) {
    const before = this.key;
    const had = this.box.contains(document.activeElement);
    this.key = shown.key;
    this.inputs = new Map();
    if (this.wouldBe) this.wouldBe.remove();
    this.wouldBe = null;
    const { form } = shown;
    this.box.replaceChildren(...(form ? this.parts(form) : []));
    // After an answer the next question comes where the last one was.
    if (before !== undefined && had) {
      const next = this.box.querySelector("input, select, button") || this.again;
      next.focus({ preventScroll: true });
    }
    this.preview();
  }

  parts(form) {
    const message = html("p", { class: "mcpsim-form-message" }, html("bdi", {}, form.message));
    const faults = form.faults.map((text) => html("p", { class: "mcpsim-form-warning", dir: "auto" }, text));
    const fields = form.fields.map((field) => this.buildField(field));
    const middle = form.mode === "url" ? this.address(form) : html("div", { class: "mcpsim-form-fields" }, ...fields);
    const buttons = form.actions.map(([action, text], i) => {
      const about = `${this.id}-about-${action}`;
      const label = { accept: "Accept", decline: "Decline", cancel: "Cancel" }[action];
      const button = this.button(label, () => this.answer(action), { "aria-describedby": about, "data-action": action });
      this.usable(button, form.answerable);
      return html("div", { class: "mcpsim-form-action" }, button, html("span", { id: about, class: "mcpsim-acting-quiet" }, text));
    });
    this.sent = html("pre", { class: "mcpsim-json mcpsim-acting-json", role: "group", "aria-label": "What Accept would send", tabindex: "0" });
    this.wouldBe = form.answerable
      ? html("div", { class: "mcpsim-form-preview" }, html("h4", {}, "What Accept would send"), this.sent)
      : null;
    return [message, ...faults, middle, html("div", { class: "mcpsim-form-actions", role: "group", "aria-label": "Answer" }, ...buttons), this.wouldBe].filter(Boolean);
  }

  // Text, and never a link: nothing here opens a page.
  address(form) {
    const [before, host, after] = form.url;
    return html(
      "div",
      { class: "mcpsim-form-address" },
      html("p", {}, "The server wants you to visit the host ", html("b", { class: "mcpsim-form-host" }, html("bdi", {}, host || "(none)")), ". The address in full:"),
      html("code", { dir: "ltr" }, before, html("mark", {}, host), after),
      html("p", { class: "mcpsim-acting-quiet" }, "Nothing is opened here. What you do there does not pass through this client."),
    );
  }

  // ------------------------------------------------------------------------------------- fields

  buildField(field) {
    const id = `${this.id}-${this.inputs.size}`;
    const hint = html("span", { class: "mcpsim-acting-quiet", id: `${id}-hint` }, [field.description, field.hint ? `(${field.hint})` : ""].filter(Boolean).join(" "));
    const fault = html("span", { class: "mcpsim-form-fault", id: `${id}-fault`, dir: "auto" });
    const warnings = field.faults.map((text) => html("p", { class: "mcpsim-form-warning", dir: "auto" }, text));
    const label = [html("bdi", {}, field.label), field.required ? html("span", { class: "mcpsim-form-required" }, " (required)") : null];
    if (!field.kind) return html("div", { class: "mcpsim-form-field" }, html("b", {}, ...label), ...warnings);
    const input = { field, fault, id, touched: false };
    const make = { boolean: () => this.choiceControl(input, [["true", "yes (true)"], ["false", "no (false)"]]), choice: () => this.choiceControl(input, field.options), choices: () => this.choicesControl(input) }[field.kind] || (() => this.textControl(input));
    make();
    this.inputs.set(field.name, input);
    const about = `${id}-hint ${id}-fault`;
    if (field.kind === "choices") {
      return html(
        "fieldset",
        { class: "mcpsim-form-field", "aria-describedby": about },
        html("legend", {}, ...label),
        input.control,
        hint,
        fault,
        ...warnings,
      );
    }
    input.control.id = id;
    input.control.setAttribute("aria-describedby", about);
    if (field.required) input.control.setAttribute("aria-required", "true");
    return html("div", { class: "mcpsim-form-field" }, html("label", { for: id }, ...label), input.control, hint, fault, ...warnings);
  }

  textControl(input) {
    const { field } = input;
    const number = field.kind !== "string";
    const types = { email: "email", uri: "url" };
    const control = html("input", { type: "text", inputmode: number ? "decimal" : types[field.format] || null, spellcheck: "false", autocomplete: "off", dir: "auto" });
    if (field.has_default && field.default !== null) control.value = String(field.default);
    input.control = control;
    input.value = () => {
      const text = control.value;
      if (!number) return text === "" ? undefined : text;
      const typed = text.trim();
      if (typed === "") return undefined;
      return ELICITATION_NUMBER.test(typed) ? Number(typed) : typed;
    };
    this.watch(input, control, "blur");
  }

  choiceControl(input, options) {
    const { field } = input;
    const stands = field.has_default ? options.findIndex(([value]) => value === String(field.default)) : -1;
    // Where there is a default, no answer would be the default.
    const none = stands < 0 ? html("option", { value: "" }, "(no answer)") : null;
    const control = html("select", {}, none, ...options.map(([, title], i) => html("option", { value: i + 1, dir: "auto" }, title)));
    if (stands >= 0) control.value = stands + 1;
    input.control = control;
    input.value = () => {
      if (control.value === "") return undefined;
      const [value] = options[Number(control.value) - 1];
      return field.kind === "boolean" ? value === "true" : value;
    };
    this.watch(input, control, "change");
  }

  choicesControl(input) {
    const { field } = input;
    const chosen = Array.isArray(field.default) ? field.default : [];
    const boxes = field.options.map(([value, title], i) => {
      const box = html("input", { type: "checkbox", id: `${input.id}-${i}` });
      box.checked = chosen.includes(value);
      this.watch(input, box, "change");
      return [value, box, html("span", { class: "mcpsim-acting-group" }, box, html("label", { for: box.id, dir: "auto" }, title))];
    });
    input.control = html("span", { class: "mcpsim-form-choices" }, ...boxes.map(([, , line]) => line));
    // Nothing chosen is an answer only where somebody took the default away or nothing is needed.
    input.value = () => {
      const values = boxes.filter(([, box]) => box.checked).map(([value]) => value);
      return values.length || field.has_default || (field.required && !field.limits.minItems) ? values : undefined;
    };
  }

  watch(input, control, event) {
    control.addEventListener("input", () => {
      this.settled = false;
      this.showChosen();
      if (input.touched) this.showFaults(input, this.checked(input));
      this.preview();
    });
    control.addEventListener(event, () => {
      input.touched = true;
      this.showFaults(input, this.checked(input));
      this.preview();
    });
  }

  checked(input) {
    return input.touched ? elicitationFaults(input.field, input.value()) : [];
  }

  showFaults(input, faults) {
    // A sentence about this field, and not about nothing: "must be 3 or less." goes on from its name.
    const name = () => html("bdi", {}, input.field.label);
    const told = faults.map((fault) => html("span", {}, "“", name(), /^(is|must) /.test(fault) ? "” " : "”: ", fault));
    input.fault.replaceChildren(...apart(...told));
    const target = input.field.kind === "choices" ? input.control.parentNode : input.control;
    if (target) target.classList.toggle("mcpsim-form-wrong", faults.length > 0);
    if (input.field.kind !== "choices") input.control.setAttribute("aria-invalid", String(faults.length > 0));
  }

  // What would be sent: what is left empty and has a default gets it, as the client does it.
  content() {
    // A field may have any name, also one that objects know.
    const content = Object.create(null);
    for (const [name, { field, value }] of this.inputs) {
      const typed = value();
      if (typed !== undefined) content[name] = typed;
      else if (field.has_default) content[name] = field.default;
    }
    return content;
  }

  preview() {
    const { form } = this.shown;
    if (!form || !form.answerable) return;
    const whole = form.mode === "url" ? { action: "accept" } : { action: "accept", content: this.content() };
    this.sent.textContent = JSON.stringify(whole, null, 2).replace(FORM_UNSEEN, escapeInJson);
  }

  answer(action) {
    if (action !== "accept" || this.shown.form.mode === "url") return this.ask({ do: "answer", action });
    for (const input of this.inputs.values()) {
      input.touched = true;
      this.showFaults(input, this.checked(input));
    }
    const wrong = [...this.inputs.values()].filter((input) => this.checked(input).length);
    if (!wrong.length) return this.ask({ do: "answer", action, content: this.content() });
    const count = wrong.length;
    const before = this.carried.hidden ? "" : " Below stands what was sent before.";
    this.say(`The answer was not sent: ${count} ${count === 1 ? "field is" : "fields are"} not right.${before}`);
    const first = wrong[0].control;
    (first.matches("input, select") ? first : first.querySelector("input")).focus();
  }

  // ------------------------------------------------------------------------------------- what travelled

  showCarried(shown) {
    const text = JSON.stringify([shown.answer, shown.carried]);
    if (this.carriedText === text) return;
    this.carriedText = text;
    const boxes = shown.carried.flatMap(({ label, messages }) =>
      messages.map(({ what, json }) => html("div", {}, html("h4", {}, html("b", {}, label), ` ${what}`), jsonBox(`${label}: ${what}`, json))),
    );
    const alone = shown.answer && !boxes.length ? [html("div", {}, html("h4", {}, "The answer"), jsonBox("The answer", shown.answer))] : [];
    this.carried.hidden = !boxes.length && !alone.length;
    this.carried.replaceChildren(...alone, ...boxes);
  }
}
