// Cost against size, a line a transport, and where the cheaper of two changes.

function drawSize(figure, state) {
  const { addPanel, finish } = begin(figure);
  const { short, note, title } = quantityOf(state);
  const list = figure.querySelector(".crossings");
  list.replaceChildren();
  const table = [];
  const notes = [note];
  const panels = data.panels.filter((panel) => panel.pattern === state.pattern);
  for (const panel of panels) {
    const points = (line) => line.points.map(([size, text, id]) => ({ size, text, cell: cells[id], cost: estimate(cells[id], state.metric) }));
    const all = panel.lines
      .map((line, index) => ({ ...line, index, transport: transports[line.transport], hidden: state.hidden.has(line.transport), points: points(line).filter(({ cost }) => cost?.at > 0) }))
      .filter((line) => !line.hidden && line.points.length);
    if (!all.length) continue;
    const lines = all.slice(0, MOST_LINES);
    if (lines.length < all.length) notes.push(`Drawn are ${MOST_LINES} of ${all.length} lines; switch transports off to see others.`);
    const drawn = new Set(lines.map(({ index }) => index));
    const crossings = panel.crossings[state.metric].filter((one) => one.lines.every((index) => drawn.has(index)));
    const known = crossings.filter((one) => one.known).length;
    const told = crossings.slice(0, Math.max(MOST_SEEMING, known));
    sizePlot(addPanel(panel.title), panel, lines, told, title, state);
    const name = panels.length > 1 ? `${panel.title}: ` : "";
    for (const one of told) list.append(element("li", name + one.text, one.known ? "known" : "seeming"));
    if (told.length < crossings.length) list.append(element("li", `${name}and ${crossings.length - told.length} more that are not known`, "seeming"));
    if (!crossings.length) list.append(element("li", `${name}no two lines cross within these sizes.`));
    for (const line of lines) for (const { text, cost } of line.points) table.push([panel.title, line.label, text, cost.text, cost.interval]);
  }
  const empty = table.length ? null : "This takes cells that differ in size alone: measure several with --sizes 64,4096,65536.";
  finish(["work", "line", "size", short, "interval"], table, notes, empty);
}

function sizePlot(container, panel, lines, crossings, title, state) {
  const height = Math.min(460, Math.max(320, (container.clientWidth || 700) * 0.5));
  const { root, width } = plotIn(container, height, `${panel.title}: ${title} against size, ${lines.length} lines; the figures and the crossings are below`);
  const log = state.scale === "log";
  const named = new Set(lines.map((line) => line.label));
  const floors = state.metric === "wall" ? panel.floors.filter(({ of }) => !of.length || of.some((name) => named.has(name))) : [];
  const names = width < 480 || lines.length > 12 ? 0 : Math.min(180, widest([...lines.map((line) => line.label), ...floors.map(({ name }) => name)]));
  const [left, right, bottom] = [76, width - 20 - names, height - 34];
  const sizes = panel.sizes.map(([size]) => size);
  const x = makeScale(sizes, left + 12, right - (names ? 12 : 0), { log: true, ladders: [] });
  const every = Math.ceil(sizes.length / Math.max(3, Math.floor((right - left) / 70)));
  Object.assign(x, { start: left, end: right, ticks: panel.sizes.filter((_, index) => index % every === 0) });
  const costs = lines.flatMap((line) => line.points.flatMap(({ cost }) => [cost.at, cost.lo, cost.hi]));
  const y = makeScale([...costs, ...floors.flatMap(({ points }) => points.map(([, at]) => at))], bottom, 12, { log, ladders: log ? ticks.time_log : ticks.time, room: 36 });
  for (const { from, to, known, text } of crossings) {
    const area = { x: x.place(from), y: 12, width: x.place(to) - x.place(from), height: bottom - 12, class: known ? "band" : "seeming" };
    root.append(withTip(svg("rect", area), [text]));
  }
  axisLeft(root, y, left, right);
  axisBelow(root, x, 12, bottom, false);
  const ends = [];
  for (const floor of floors) {
    const places = floor.points.map(([size, at]) => [x.place(size), y.place(at)]);
    root.append(svg("path", { d: `M${places.join("L")}`, class: "floor" }));
    ends.push({ name: floor.name, at: places.at(-1) });
  }
  lines.forEach((line, index) => {
    // Intervals stand next to one another, so that all can be seen.
    const aside = Math.min(5, 60 / lines.length) * (index - (lines.length - 1) / 2);
    const places = line.points.map(({ size, cost }) => [x.place(size), y.place(cost.at)]);
    root.append(ofTransport(line.transport, through(places)));
    line.points.forEach((point, at) => root.append(sizePoint(line, point, places[at], aside, y)));
    ends.push({ name: line.label, at: places.at(-1), transport: line.transport });
  });
  if (names) root.append(...endNames(ends, right, width, bottom));
}

function sizePoint(line, { text, cost, cell }, [x, y], aside, scale) {
  const lines = [line.label, `${text}: ${cost.text}`, interval(cost.interval), `${cell.epochs} epochs`];
  const bounded = !missing(cost.lo) && !missing(cost.hi);
  const point = pointWithTip(line.transport, x, y, 4.5, lines, !bounded);
  if (bounded) {
    const [low, high] = [scale.place(cost.lo), scale.place(cost.hi)];
    const strokes = [`M${x + aside} ${low}V${high}`, ...[low, high].map((end) => `M${x + aside - 3} ${end}h6`)];
    point.prepend(svg("path", { d: strokes.join(""), class: "whisker thin" }));
  }
  return point;
}

// Names at the ends of lines, moved apart where they would hide one another.
function endNames(ends, right, width, bottom) {
  ends.sort((a, b) => a.at[1] - b.at[1]);
  let free = 16;
  for (const end of ends) free = (end.y = Math.max(end.at[1], free)) + 16;
  let limit = bottom;
  for (const end of ends.toReversed()) limit = (end.y = Math.min(end.y, limit)) - 16;
  return ends.map(({ name, at, y, transport }) => {
    const link = svg("path", { d: `M${at[0] + 6} ${at[1]}L${right} ${at[1]}L${right + 8} ${y}`, class: "link" });
    const text = label(fit(name, width - right - 12), right + 12, y + 4, "name");
    return transport ? ofTransport(transport, link, text) : svg("g", {}, link, text);
  });
}
