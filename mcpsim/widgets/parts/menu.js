// The menu of what is rarely used: whatever the other features offer in `menu()`.
//
// An entry is [label, action], or [label, action, pressed] for something that is on or off.

class Menu {
  constructor(view) {
    this.view = view;
    view.say = (...nodes) => this.say(...nodes);
    this.open = false;
    this.id = `mcpsim-menu-${Math.random().toString(36).slice(2)}`;
    // A click anywhere else closes it; so does leaving it with Tab.
    this.outside = (event) => {
      if (this.open && !event.composedPath().includes(this.box)) this.close({ back: false });
    };
    document.addEventListener("pointerdown", this.outside, true);
  }

  remove() {
    document.removeEventListener("pointerdown", this.outside, true);
  }

  entries() {
    return this.view.each("menu").flat().filter(Boolean);
  }

  tools() {
    if (!this.entries().length) return [];
    this.open = false;
    this.button = html("button", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false" }, "More");
    this.button.setAttribute("aria-controls", this.id);
    this.button.addEventListener("click", () => (this.open ? this.close() : this.show()));
    this.button.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      this.show(event.key === "ArrowUp" ? -1 : 0);
      this.view.handled(event);
    });
    this.list = html("div", { class: "mcpsim-menu", role: "menu", id: this.id, "aria-label": "More", hidden: true });
    this.list.addEventListener("keydown", (event) => this.onMenuKey(event));
    this.box = html("span", { class: "mcpsim-menu-box" }, this.button, this.list);
    this.box.addEventListener("focusout", (event) => {
      if (this.open && event.relatedTarget && !this.box.contains(event.relatedTarget)) this.close({ back: false });
    });
    return [this.box];
  }

  // What the last entry came to: a line below the controls.
  bar() {
    this.line = html("span", { class: "mcpsim-said-text", role: "status" });
    const close = html("button", { type: "button", "aria-label": "Close this line" }, "×");
    close.addEventListener("click", () => {
      this.say();
      this.view.root.focus({ preventScroll: true });
    });
    this.said = html("div", { class: "mcpsim-said" }, this.line, close);
    this.said.classList.add("mcpsim-said-nothing");
    if (!this.heard) this.listenForActions();
    return this.said;
  }

  // Tell the user something, in text or nodes; nothing takes the line away. It stays until the next action.
  say(...nodes) {
    this.line.replaceChildren(...nodes);
    this.said.classList.toggle("mcpsim-said-nothing", !nodes.length);
  }

  listenForActions() {
    // Before the action is carried out: what that says is new. A click and not the press: nothing may move between.
    this.heard = (event) => {
      if (this.said.contains(event.target)) return;
      const { key } = event;
      if (key && (event.ctrlKey || event.metaKey || event.altKey || ["Tab", "Shift", "Control", "Alt", "Meta"].includes(key))) return;
      if (this.line.childNodes.length) this.say();
    };
    for (const name of ["keydown", "click"]) this.view.root.addEventListener(name, this.heard, true);
  }

  items() {
    return [...this.list.querySelectorAll("[role^=menuitem]")];
  }

  show(at = 0) {
    this.list.replaceChildren(...this.entries().map((entry) => this.item(...entry)));
    this.open = true;
    this.list.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.items().at(at)?.focus();
  }

  close({ back = true } = {}) {
    this.open = false;
    this.list.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    if (back) this.button.focus({ preventScroll: true });
  }

  item(label, action, pressed) {
    const known = pressed === undefined ? {} : { "aria-checked": String(Boolean(pressed)) };
    const role = pressed === undefined ? "menuitem" : "menuitemcheckbox";
    const sign = html("span", { class: "mcpsim-menu-sign", "aria-hidden": "true" }, pressed ? "✓" : "");
    const made = html("button", { type: "button", role, tabindex: "-1", ...known }, sign, html("span", {}, label));
    made.addEventListener("click", () => {
      // First the focus goes back: what the entry does may move it on.
      this.close();
      action();
    });
    return made;
  }

  onMenuKey(event) {
    const items = this.items();
    const here = items.indexOf(event.target.closest("[role^=menuitem]"));
    const moves = {
      ArrowDown: () => items[(here + 1) % items.length].focus(),
      ArrowUp: () => items[(here - 1 + items.length) % items.length].focus(),
      Home: () => items[0].focus(),
      End: () => items[items.length - 1].focus(),
      Escape: () => this.close(),
    };
    if (event.key === "Tab") return;
    if (moves[event.key]) {
      moves[event.key]();
      event.preventDefault();
    } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
      // The next entry that begins with this letter.
      const order = [...items.slice(here + 1), ...items.slice(0, here + 1)];
      order.find((item) => item.lastChild.textContent.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
      event.preventDefault();
    }
    // No key of a menu is one of the player behind it.
    event.stopPropagation();
  }
}
