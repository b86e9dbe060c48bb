// One colour and one mark a transport, the same in every chart; both, since not everybody tells colours apart.

const COLOURS = 8;
const MARKS = ["circle", "square", "diamond", "triangle", "bar", "wedge"];

const root = document.documentElement;
const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

function pageStyle() {
  const style = {};
  for (const name of ["ink", "quiet", "rule", "faint", "paper", "band", "accent"]) style[name] = colour(name);
  style.font = getComputedStyle(document.body).fontFamily;
  style.transport = transports.map((_, index) => colour(`t${index % COLOURS}`));
  style.parts = [0, 1, 2, 3].map((index) => colour(`part${index}`));
  return style;
}

const transportColour = (style, name) => style.transport[transports.indexOf(name)];
const markOf = (name) => MARKS[(transports.indexOf(name) + Math.floor(transports.indexOf(name) / COLOURS)) % MARKS.length];

// A mark's shapes around a point; hollow where there is no interval behind the figure.
function mark(kind, x, y, radius, stroke, { hollow = false, paper = "none" } = {}) {
  const style = { fill: hollow ? paper : stroke, stroke, lineWidth: 1.8 };
  const points = {
    diamond: [[x, y - radius * 1.2], [x + radius * 1.2, y], [x, y + radius * 1.2], [x - radius * 1.2, y]],
    triangle: [[x, y - radius * 1.1], [x + radius * 1.1, y + radius * 0.9], [x - radius * 1.1, y + radius * 0.9]],
    wedge: [[x, y + radius * 1.1], [x + radius * 1.1, y - radius * 0.9], [x - radius * 1.1, y - radius * 0.9]],
  }[kind];
  if (points) return { type: "polygon", shape: { points }, style };
  if (kind === "square" || kind === "bar") {
    const width = kind === "bar" ? radius * 0.5 : radius * 0.9;
    return { type: "rect", shape: { x: x - width, y: y - radius * 0.9, width: width * 2, height: radius * 1.8 }, style };
  }
  return { type: "circle", shape: { cx: x, cy: y, r: radius }, style };
}

// The same mark as a picture in the page.
function markPicture(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 14 14");
  svg.setAttribute("class", `mark t${transports.indexOf(name) % COLOURS}`);
  svg.setAttribute("aria-hidden", "true");
  const { type, shape } = mark(markOf(name), 7, 7, 5, "");
  const element = document.createElementNS(svg.namespaceURI, type);
  const attributes = type === "polygon" ? { points: shape.points.join(" ") } : shape;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  svg.append(element);
  return svg;
}
