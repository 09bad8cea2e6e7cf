// A link text: a line that says story, knobs and step, for somebody else to paste.

class Share {
  static KEYS = [["l", "copy the link text of this view"]];

  constructor(view) {
    this.view = view;
  }

  menu() {
    return [["Copy link text", () => this.copy()]];
  }

  onKey(event) {
    if (event.key !== "l") return false;
    this.copy();
    return true;
  }

  async copy() {
    const link = this.view.model.get("link");
    if (!link) {
      this.view.say(
        "A link text names a built-in story and where its knobs stand. This recording is not shown on the bench of one: export it instead.",
      );
      return;
    }
    const text = `${link}#${this.view.cursor}`;
    const shown = html("code", { dir: "ltr" }, text);
    const copied = await toClipboard(text);
    this.view.say(copied ? "Copied: " : "The browser does not let this be copied. Select it: ", shown);
    if (!copied) getSelection().selectAllChildren(shown);
  }
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
