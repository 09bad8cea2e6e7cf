// Progress bars: calls in flight, and what arrives of them.

function renderProgress({ model, el }) {
  const view = new ProgressView(model, el, "progress");
  return () => view.remove();
}

// The speed of playing: one second of the run takes so many of the clock's, within bounds for each moment.
const PROGRESS_SLOWER = 2;
const PROGRESS_SHORTEST_MS = 150;
const PROGRESS_LONGEST_MS = 1500;

class ProgressView extends ActingView {
  build() {
    this.step = this.button("Step", () => this.go(this.moment + 1), { class: "mcpsim-acting-main" });
    this.back = this.button("Back", () => this.go(this.moment - 1));
    this.play = this.button("Play", () => this.toggle());
    this.end = this.button("Run to the end", () => this.go(this.last));
    this.over = this.button("Start over", () => this.startOver());
    this.time = html("span", { class: "mcpsim-progress-time" });
    this.about = html("span", { class: "mcpsim-acting-quiet" });
    this.calls = html("ul", { class: "mcpsim-progress-calls" });
    this.list = html("ol", { class: "mcpsim-progress-moments" });
    this.none = html("p", { class: "mcpsim-acting-quiet" }, "What happens is listed here, step by step.");
    this.root.append(
      this.head(this.about),
      html("div", { class: "mcpsim-acting-tools" },
        html("span", { class: "mcpsim-acting-group", role: "group", "aria-label": "Go through the run" }, this.step, this.back, this.play, this.end, this.over),
        this.time,
      ),
      this.error,
      this.calls,
      this.status,
      this.busy,
      html("div", { class: "mcpsim-progress-told mcpsim-acting-scroll", role: "group", "aria-label": "What happened so far", tabindex: "0" }, this.list, this.none),
      html("p", { class: "mcpsim-acting-notes" }, ...prose(this.shown.rules), ...this.shown.urls.flatMap((url) => [" ", specLink(url, { full: true })])),
    );
    this.rows = [];
    const move = () => this.move();
    this.model.on("change:moment", move);
    this.forgetMoment = () => this.model.off("change:moment", move);
  }

  remove() {
    this.halt();
    this.forgetMoment();
    super.remove();
  }

  get moment() {
    return clamp(this.model.get("moment"), 0, this.last);
  }

  get last() {
    return this.shown.moments.length;
  }

  go(moment) {
    this.halt();
    this.set(moment);
  }

  set(moment) {
    this.model.set("moment", clamp(moment, 0, this.last));
    this.model.save_changes();
  }

  // ------------------------------------------------------------------------------------- playing

  toggle() {
    if (this.timer) this.halt();
    else {
      if (this.moment === this.last) this.set(0);
      this.wake();
    }
    this.showPlaying();
  }

  halt() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.showPlaying();
  }

  wake() {
    const [now, next] = [this.shown.moments[this.moment - 1], this.shown.moments[this.moment]];
    if (!next) return this.halt();
    const pause = ((next.at_us - (now ? now.at_us : 0)) / 1000) * PROGRESS_SLOWER;
    this.timer = setTimeout(() => {
      this.set(this.moment + 1);
      this.wake();
    }, clamp(pause, PROGRESS_SHORTEST_MS, PROGRESS_LONGEST_MS));
    this.showPlaying();
  }

  showPlaying() {
    this.play.textContent = this.timer ? "Pause" : "Play";
    this.play.setAttribute("aria-pressed", String(Boolean(this.timer)));
  }

  // ------------------------------------------------------------------------------------- wishes

  startOver() {
    this.halt();
    this.ask({ do: "reset" });
  }

  // Playing goes on: the part before the press is the same in the new run.
  stop(index) {
    this.ask({ do: "stop", call: index, moment: this.moment });
  }

  // ------------------------------------------------------------------------------------- what is seen

  show(shown) {
    this.about.textContent = `${shown.transport}, ${shown.era} client. A bar moves when a notification arrives.`;
    if (this.rows.length !== shown.calls.length) {
      this.rows = shown.calls.map((call, i) => this.row(call, i));
      this.calls.replaceChildren(...this.rows.map((row) => row.item));
    }
    this.move();
  }

  row(call, i) {
    const bar = html("div", { class: "mcpsim-progress-bar", role: "progressbar", "aria-valuemin": "0" }, html("span", { class: "mcpsim-progress-fill" }));
    const stop = this.button("Stop", () => this.stop(i));
    const name = html("span", { class: "mcpsim-progress-name" });
    const value = html("span", { class: "mcpsim-progress-value" });
    const message = html("bdi", { class: "mcpsim-progress-message" });
    const sides = html("span", { class: "mcpsim-progress-sides" });
    const head = html("div", { class: "mcpsim-progress-head" }, name, value, stop);
    return { item: html("li", {}, head, bar, html("div", { class: "mcpsim-progress-foot" }, message, sides)), bar, stop, name, value, message, sides };
  }

  move() {
    const { calls, moments } = this.shown;
    const moment = this.moment;
    calls.forEach((call, i) => this.showCall(this.rows[i], call, moment, this.pressed(i, moment)));
    const now = moments[moment - 1];
    this.time.textContent = now ? `Virtual time: ${now.at}` : "Nothing has been sent yet.";
    const told = now ? `${now.call}: ${now.text.replaceAll("`", "")}` : "Press Step or Play: the client sends all calls at once.";
    this.say([told, ...calls.map((call, i) => this.pressed(i, moment)).map((text, i) => (text ? `${calls[i].id}: ${text}` : ""))].filter(Boolean).join(" "));
    const shown = moments.slice(0, moment);
    // Only what is new is built: a long run has many moments.
    while (this.list.children.length > shown.length) this.list.lastChild.remove();
    const same = this.told === this.shown.moments;
    if (!same) this.list.replaceChildren();
    this.told = this.shown.moments;
    for (const one of shown.slice(this.list.children.length)) {
      this.list.append(html("li", { dir: "auto" }, html("span", { class: "mcpsim-acting-quiet" }, `${one.at} ${one.call} `), ...prose(one.text)));
    }
    this.none.hidden = moment > 0;
    const box = this.list.parentNode;
    box.scrollTop = box.scrollHeight;
    this.usable(this.step, moment < this.last);
    this.usable(this.end, moment < this.last);
    this.usable(this.back, moment > 0);
    this.usable(this.over, moment > 0 || this.shown.stops > 0);
  }

  // What is said of a Stop from the press until the client has done what it does for it; otherwise "".
  pressed(i, moment) {
    const one = this.shown.pressed[i];
    if (!one || moment < one.moment || (one.until !== null && moment >= one.until)) return "";
    if (!one.sent) return "Stop pressed, and too late: the answer arrives at this very time.";
    const steps = one.until - moment;
    return `Stop pressed: sent with the ${steps === 1 ? "next step" : `step after ${steps === 2 ? "the next one" : `${steps - 1} more`}`}.`;
  }

  showCall(row, call, moment, pressed) {
    const known = [...call.changes].reverse().find((one) => one.moment <= moment);
    const title = `${call.id} ${call.label}`;
    row.name.replaceChildren(html("b", {}, call.id), " ", html("bdi", {}, call.label));
    row.bar.setAttribute("aria-label", title);
    row.stop.setAttribute("aria-label", `Stop ${title}`);
    row.stop.textContent = pressed ? "Stopping" : "Stop";
    this.usable(row.stop, Boolean(known && known.flight && !pressed));
    const { progress = null, total = null } = known || {};
    const whole = progress !== null && total !== null && total > 0;
    const stopped = Boolean(known && !known.flight && known.outcome.startsWith("stopped"));
    const kind = !known ? "idle" : known.flight ? (whole ? "part" : "open") : stopped ? "stopped" : known.client.includes("error") ? "failed" : "done";
    row.item.className = `mcpsim-progress-${kind}`;
    row.bar.firstChild.style.inlineSize = whole ? `${(clamp(progress / total, 0, 1) * 100).toFixed(1)}%` : kind === "done" ? "100%" : "0%";
    this.attribute(row.bar, "aria-valuenow", whole ? progress : null);
    this.attribute(row.bar, "aria-valuemax", whole ? Math.max(total, progress) : null);
    const value = known ? known.value : "not sent yet";
    const message = !known ? "The first step sends it." : [known.message, known.flight ? pressed : known.outcome].filter(Boolean).join(" → ");
    row.bar.setAttribute("aria-valuetext", [value, message].filter(Boolean).join(". "));
    row.value.textContent = value;
    row.message.textContent = message;
    row.sides.replaceChildren(...(known ? [html("span", {}, html("b", {}, "client "), known.client), html("span", {}, html("b", {}, "server "), known.server)] : []));
  }

  attribute(node, name, value) {
    if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, String(value));
  }
}
