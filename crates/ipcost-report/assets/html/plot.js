// Plain SVG: plots with their axes, what hovering shows, and the same figures as a table. Texts come from the document's
// maker: they only ever become text.

const data = JSON.parse(document.getElementById("figures").textContent);
const root = document.documentElement;

const element = (name, text, className) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const missing = (value) => value === null || value === undefined;

const pen = document.createElement("canvas").getContext("2d");
pen.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
const widthOf = (text) => pen.measureText(text).width;
const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

// The text, cut where it needs more room.
function fit(text, room) {
  const width = widthOf(text);
  if (width <= room) return text;
  const letters = [...text].slice(0, Math.ceil((text.length * room) / width));
  while (letters.length && widthOf(`${letters.join("")}…`) > room) letters.pop();
  return `${letters.join("")}…`;
}

// From values to places between two coordinates, with the finest ticks for which there is room. A linear scale begins at zero.
function makeScale(values, start, end, kind, room = 75) {
  const log = kind.endsWith("_log");
  const at = (value) => (log ? Math.log10(value) : value);
  const drawable = values.filter((value) => !missing(value) && (!log || value > 0)).map(at);
  const least = drawable.reduce((a, b) => Math.min(a, b), drawable[0] ?? 0);
  const most = drawable.reduce((a, b) => Math.max(a, b), drawable[0] ?? 1);
  const margin = Math.max((most - least) * 0.04, log ? 0.025 : Math.abs(most) * 0.04) || 1;
  const [from, to] = [log || kind === "epoch" ? least - margin : 0, most + margin];
  const share = (value) => (log && value <= 0 ? 0 : Math.min(Math.max((at(value) - from) / (to - from), 0), 1));
  const place = (value) => start + share(value) * (end - start);
  const count = Math.max(3, Math.floor(Math.abs(end - start) / room));
  const within = (ladder) => ladder.filter(([value]) => at(value) >= from && at(value) <= to);
  const fits = (ladder) => at(ladder.at(-1)[0]) >= to && within(ladder).length <= count;
  return { log, place, start, end, ticks: within(data.ticks[kind]?.find(fits) ?? []) };
}

const segment = (x1, y1, x2, y2, className) => svg("line", { x1, y1, x2, y2, class: className });
const label = (content, x, y, className) => svg("text", { x, y, class: className }, content);
const through = (points, dashes = "none") => svg("path", { d: `M${points.join("L")}`, class: "line", "stroke-dasharray": dashes });

function mark(transport, x, y, size, hollow) {
  const outline = svg("path", { d: transport.mark, class: hollow ? "mark hollow" : "mark" });
  outline.setAttribute("transform", `translate(${x} ${y}) scale(${size / 5})`);
  return outline;
}

const ring = (cx, cy) => svg("circle", { cx, cy, r: 3, class: "mark hollow" });
const ofTransport = (transport, ...children) => svg("g", { class: `t${transport.colour}` }, ...children);

// Shows these lines while the pointer is on it.
function withTip(target, lines) {
  target.tip = lines;
  target.classList.add("target");
  return target;
}

const tip = element("div", undefined, "tip");
document.body.append(tip);
function showTip(event) {
  const lines = event.target.closest?.(".target")?.tip ?? [];
  tip.replaceChildren(...lines.map((line, index) => element(index ? "div" : "strong", line)));
  if (!lines.length) return;
  const { width, height } = tip.getBoundingClientRect();
  const [x, y] = [event.clientX + 14, event.clientY + 16];
  tip.style.left = `${Math.max(4, Math.min(x, root.clientWidth - width - 4))}px`;
  tip.style.top = `${y + height > innerHeight ? Math.max(4, event.clientY - height - 12) : y}px`;
}
for (const kind of ["pointermove", "pointerdown"]) addEventListener(kind, showTip);
root.addEventListener("mouseleave", showTip);

function plotIn(container, height, description) {
  const width = container.clientWidth || 700;
  const plot = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${description}; the figures are below` });
  const place = element("div", undefined, "plot");
  place.append(plot);
  container.append(place);
  return { plot, width };
}

function axisBelow(plot, scale, top, bottom, guides) {
  let free = -Infinity;
  for (const [value, text] of scale.ticks) {
    const [x, half] = [scale.place(value), widthOf(text) / 2];
    if (guides) plot.append(segment(x, top, x, bottom, "guide"));
    if (x - half < free) continue;
    plot.append(label(text, x, bottom + 18, "tick middle"));
    free = x + half + 8;
  }
  plot.append(segment(scale.start, bottom, scale.end, bottom, "axis"));
}

// A plot with costs upwards; `reserved` is what names take at the right.
function costPlot(container, height, description, costs, kind, reserved = 0) {
  const { plot, width } = plotIn(container, height, description);
  const [left, right, bottom] = [76, width - 20 - reserved, height - 34];
  const y = makeScale(costs, bottom, 12, kind, 36);
  for (const [value, text] of y.ticks) {
    const at = y.place(value);
    plot.append(segment(left, at, right, at, "guide"), label(text, left - 8, at + 4, "tick end"));
  }
  plot.append(segment(left, y.start, left, y.end, "axis"));
  return { plot, width, left, right, bottom, y };
}

const ROW = 28;

// Rows with a name at the left and a figure at the right, along one axis: {name, figure, heading, faded}. `inside` draws
// a row, `behind` what lies behind all of them.
function rowPlot(container, rows, values, kind, description, inside, behind) {
  const height = rows.length * ROW + 40;
  const { plot, width } = plotIn(container, height, description);
  const texts = rows.filter((row) => !row.heading);
  const figures = widest(texts.map((row) => row.figure ?? ""));
  const left = Math.min(widest(texts.map((row) => row.name)) + 16, Math.max(90, width * 0.32));
  const right = width - (width < 480 || !figures ? 16 : Math.min(figures + 16, width * 0.4));
  const scale = makeScale(values, left, right, kind);
  behind?.(plot, scale, 4, height - 32);
  axisBelow(plot, scale, 4, height - 32, true);
  rows.forEach((row, index) => {
    const y = 4 + (index + 0.5) * ROW;
    if (row.heading) return plot.append(label(row.name, 2, y + 4, "heading"));
    plot.append(label(fit(row.name, left - 12), left - 10, y + 4, row.faded ? "end quiet" : "end"));
    if (row.figure && right < width - 16) plot.append(label(fit(row.figure, width - right - 10), right + 10, y + 4, "quiet"));
    return plot.append(inside(row, scale, y));
  });
}

// A point with its interval: {at, lo, hi, transport, tip, floor, marks}. Where a bound is unknown, the line is dashed to
// the edge; where both are, the point is hollow and there is no line.
function intervalRow(row, scale, y) {
  const group = ofTransport(row.transport);
  if (missing(row.at)) return group;
  const { start, end, place } = scale;
  group.append(svg("rect", { x: start, y: y - ROW / 2, width: end - start, height: ROW, class: "reach" }));
  if (!missing(row.floor)) group.append(segment(place(row.floor), y - ROW / 2, place(row.floor), y + ROW / 2, "floor"));
  const open = missing(row.lo) && missing(row.hi);
  for (const [bound, edge] of open ? [] : [[row.lo, start], [row.hi, end]]) {
    const to = missing(bound) ? edge : place(bound);
    group.append(segment(place(row.at), y, to, y, missing(bound) ? "whisker dashed" : "whisker"));
    if (!missing(bound)) group.append(segment(to, y - 5, to, y + 5, "whisker"));
  }
  for (const value of row.marks ?? []) group.append(ring(place(value), y));
  group.append(mark(row.transport, place(row.at), y, 5, open));
  return withTip(group, row.tip);
}

// A point of a line, with room around it for fingers.
function pointWithTip(transport, x, y, size, lines, hollow) {
  const reach = svg("circle", { cx: x, cy: y, r: 9, class: "reach" });
  return withTip(ofTransport(transport, reach, mark(transport, x, y, size, hollow)), lines);
}

// Begins a figure anew: its panels, and what it says once it is drawn.
function begin(figure) {
  const panels = figure.querySelector(".panels");
  panels.replaceChildren();
  const addPanel = (title) => {
    const panel = element("div", undefined, "panel");
    panel.append(element("h4", title));
    panels.append(panel);
    return panel;
  };
  const finish = (titles, rows, notes, empty) => {
    if (empty) panels.append(element("p", empty, "empty"));
    figure.querySelector(".note").textContent = notes.filter(Boolean).join(" ");
    const table = element("table");
    const head = table.createTHead().insertRow();
    head.append(...titles.map((title) => element("th", title)));
    const body = table.createTBody();
    for (const row of rows) body.insertRow().append(...row.map((value) => element("td", value ?? "")));
    figure.querySelector(".figures").replaceChildren(table);
    figure.querySelector("details").hidden = rows.length === 0;
  };
  return { panels, addPanel, finish };
}
