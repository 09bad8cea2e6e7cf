// What every widget draws with: elements, prose, links.
//
// The files in this folder are put one after the other into one plain ES module (see mcpsim.widgets.scripts):
// no build step and no network. So a name at the outermost level belongs to all files of a module, and none
// of them imports or exports anything. All text from a recording goes through text nodes, never through
// markup, so nothing in a message can run.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function html(tag, attributes = {}, ...children) {
  const node = fill(document.createElement(tag), attributes, children);
  // JupyterLab takes the keys b, h and others for its own. It looks for this mark from the element that has
  // the focus upwards, and stops at the first that fits a shortcut: so whatever can have the focus needs it.
  const tags = ["a", "button", "input", "select", "summary", "textarea"];
  const focusable = tags.includes(tag) || "tabindex" in attributes;
  if (focusable || attributes.role === "option") node.setAttribute("data-lm-suppress-shortcuts", "true");
  if (/(^| )mcpsim-ui( |$)/.test(attributes.class || "")) {
    fit(node);
    node.addEventListener("keydown", passSavingOn, true);
  }
  return node;
}

// Whoever saves a notebook means all of it, wherever the focus is. With the mark above JupyterLab does not see
// the keys, and the browser would offer to save the page: so the cell gets them instead.
function passSavingOn(event) {
  const { ctrlKey, metaKey, shiftKey, altKey, key, code, keyCode } = event;
  if (key !== "s" || ctrlKey === metaKey || shiftKey || altKey) return;
  const cell = event.currentTarget.closest(".jp-Cell");
  if (!cell) return;
  event.preventDefault();
  event.stopPropagation();
  const same = { key, code, keyCode, ctrlKey, metaKey, bubbles: true, cancelable: true };
  cell.dispatchEvent(new KeyboardEvent("keydown", same));
}

// The widths, in pixels, up to which a widget has a class of that name, such as `mcpsim-to-900`.
const WIDTHS = [1000, 900, 760, 600, 480];

// Tell the style how much room there is. Container queries would do the same, but not in JupyterLab, which
// skips cells that are out of view (content-visibility): what Chromium 156 changes in a size container after
// that is never painted.
function fit(node) {
  new ResizeObserver(([entry]) => {
    const width = entry.contentRect.width;
    if (width) for (const each of WIDTHS) node.classList.toggle(`mcpsim-to-${each}`, width <= each);
  }).observe(node);
}

// With spaces between: what only the style puts apart is one word to whoever hears it.
function apart(...nodes) {
  return nodes.filter((node) => node !== null && node !== undefined).flatMap((node, i) => (i ? [" ", node] : [node]));
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// `code` between backticks, the rest as it is.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? html("code", {}, part) : document.createTextNode(part)));
}

// A link to the specification: the page's name, and for a rule also the revision and the path to the page. Where
// links lead to several places of one page, the place as well.
function specLink(url, { full, anchor = false }) {
  const place = url.replace(/^https:\/\/[^/]+\/specification\//, "");
  const [revision, ...path] = place.replace(/#.*$/, "").split("/");
  const text = full ? `${path.join("/")}${anchor ? url.replace(/^[^#]*/, "") : ""} (${revision})` : path.filter((part) => part !== "index").pop();
  return html("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: place }, text);
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

function calm() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Whether others of these links lead to the same page.
function sharesPage(url, urls) {
  const page = (each) => each.replace(/#.*$/, "");
  return urls.filter((each) => page(each) === page(url)).length > 1;
}
