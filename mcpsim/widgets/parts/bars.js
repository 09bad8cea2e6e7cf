// What goes on for a while: a shape and a place for each kind of bar.

const BARS = {
  handler: "a handler at work; it fills as it reports progress, and a cross is where it was stopped",
  asked: "a user or host who is asked, and has not answered yet",
  stream: "an open event stream or subscription",
  fresh: "a kept result, as long as it is fresh",
  session: "a legacy session",
};
// Beside the lane and not on it.
const RAILS = new Set(["stream", "fresh", "session"]);
const RAIL_GAP = 15;
const BAR_WIDTH = 9;

// A bar as text: who, what, from which step until which.
function sayBar(bar) {
  const until = bar.until === null ? "on" : `to ${bar.until}`;
  const how = ["", "finished", "closed"].includes(bar.end) ? "" : ` (${bar.end})`;
  const last = bar.marks.length ? `; progress ${bar.marks.slice(-12).map((mark) => mark[4]).join(", ")}` : "";
  return `${bar.text}: from step ${bar.from} ${until}${how}${last}`;
}

function rail(kind, x, top, bottom) {
  switch (kind) {
    case "stream":
      return [
        svg("path", { d: `M${x - 2} ${top} V${bottom} M${x + 2} ${top} V${bottom}`, class: "rail" }),
        svg("circle", { cx: x, cy: top, r: 3.5, class: "knob" }),
        svg("circle", { cx: x, cy: bottom, r: 3.5, class: "knob" }),
      ];
    case "fresh":
      return [
        svg("path", { d: `M${x} ${top} V${bottom}`, class: "dots" }),
        svg("path", { d: `M${x} ${top - 5} L${x + 5} ${top} L${x} ${top + 5} L${x - 5} ${top} Z`, class: "full" }),
        svg("path", { d: `M${x - 5} ${bottom} H${x + 5}`, class: "rail" }),
      ];
    default:
      return [svg("path", { d: `M${x + 4} ${top} H${x - 4} V${bottom} H${x + 4}`, class: "rail" })];
  }
}

// The handler fills from the left with each report of how far it is.
function filled(bar, x, top, bottom, heights) {
  const nodes = [];
  bar.marks.forEach((mark, i) => {
    const from = heights.mark(mark);
    const next = bar.marks[i + 1];
    const to = Math.min(bottom, next ? heights.mark(next) : bottom);
    if (mark[3] !== null && to > from) {
      nodes.push(svg("rect", { x, y: from, width: (BAR_WIDTH * mark[3]).toFixed(2), height: to - from, class: "done" }));
    }
    nodes.push(svg("path", { d: `M${x - 2} ${from} H${x + BAR_WIDTH + 2}`, class: "tick" }));
  });
  return nodes;
}

// Beside a lane with others on both sides the texts of messages stand: there the name shows under the pointer,
// and in the table.
function barNode(bar, x, outwards, [top, bottom], heights, isNamed = true) {
  const low = Math.max(bottom, top + 4);
  const group = svg("g", {}, bar.name ? svg("title", {}, bar.name) : null);
  if (RAILS.has(bar.kind)) {
    group.append(...rail(bar.kind, x, top, low));
    if (isNamed && low - top > 90) {
      const at = `rotate(-90 ${x + outwards * 9} ${(top + low) / 2})`;
      const name = bar.name.length * 6.2 > low - top ? `${bar.name.slice(0, Math.floor((low - top) / 6.2) - 1)}…` : bar.name;
      const middle = { x: x + outwards * 9, y: (top + low) / 2 + 4, "text-anchor": "middle", transform: at };
      group.append(svg("text", { ...middle, class: "named" }, name));
    }
    return group;
  }
  group.append(svg("rect", { x, y: top, width: BAR_WIDTH, height: low - top, rx: bar.kind === "asked" ? 4.5 : 2, class: "box" }));
  group.append(...filled(bar, x, top, low, heights));
  if (bar.end === "cancelled") group.append(cross(x + BAR_WIDTH / 2, low));
  return group;
}

// The mark of a kind of bar, for the help.
function barMark(kind) {
  const box = svg("svg", { viewBox: "0 0 16 28", class: `mcpsim-bar-mark mcpsim-bar mcpsim-b-${kind}`, "aria-hidden": "true" });
  const example = { kind, name: "", end: "", marks: kind === "handler" ? [[1, 10, 10, 0.5, ""]] : [] };
  const heights = { mark: (mark) => mark[1] };
  box.append(barNode(example, RAILS.has(kind) ? 8 : 3.5, 1, [6, 23], heights));
  return box;
}
