// Cost against size, a line a transport, and where the cheaper of two changes.

// The lines of a panel that are shown, with their points.
function linesOf(panel, state) {
  const point = ([size, text, id]) => ({ size, text, cell: cells[id], cost: estimate(cells[id], state.metric) });
  const lines = panel.lines.map((line, index) => {
    const points = line.points.map(point).filter(({ cost }) => cost?.at > 0);
    return { ...line, index, points, transport: transports[line.transport], hidden: state.hidden.has(line.transport) };
  });
  return lines.filter((line) => !line.hidden && line.points.length);
}

function drawSize(figure, state) {
  const { addPanel, finish } = begin(figure);
  const quantity = quantityOf(state);
  const list = figure.querySelector(".crossings");
  list.replaceChildren();
  const table = [];
  const notes = [quantity.note];
  const panels = data.panels.filter(({ pattern }) => pattern === state.pattern);
  for (const panel of panels) {
    const all = linesOf(panel, state);
    if (!all.length) continue;
    const lines = all.slice(0, MOST_LINES);
    if (lines.length < all.length) notes.push(`${MOST_LINES} of ${all.length} lines are drawn; switch transports off to see others.`);
    const drawn = new Set(lines.map(({ index }) => index));
    const crossings = panel.crossings[state.metric].filter((one) => one.lines.every((index) => drawn.has(index)));
    const told = crossings.slice(0, Math.max(MOST_SEEMING, crossings.filter(({ known }) => known).length));
    if (sizePlot(addPanel(panel.title), panel, lines, told, quantity.title, state)) notes.push(data.floors);
    const title = panels.length > 1 ? `${panel.title}: ` : "";
    const say = (text, className) => list.append(element("li", title + text, className));
    for (const { text, known } of told) say(text, known ? "known" : "seeming");
    if (told.length < crossings.length) say(`${crossings.length - told.length} more crossings by medians alone.`, "seeming");
    if (all.some(({ index }) => index >= data.crossed)) say(`Only the first ${data.crossed} lines are checked for crossings.`);
    else if (!crossings.length) say("No two lines cross within these sizes.");
    for (const { label, points } of lines) for (const { text, cost } of points) table.push([panel.title, label, text, cost.text, cost.interval]);
  }
  const empty = table.length ? null : "This chart needs the same work in at least two sizes: measure with --sizes 64,4096,65536.";
  finish(["work", "line", "size", quantity.short, "interval"], table, [...new Set(notes)], empty);
}

// Draws it, and tells whether there are floors.
function sizePlot(container, panel, lines, crossings, title, state) {
  const width = container.clientWidth || 700;
  const labels = new Set(lines.map((line) => line.label));
  const floors = panel.floors.filter(({ of }) => state.metric === "wall" && (!of.length || of.some((name) => labels.has(name))));
  const names = width < 480 || lines.length > 12 ? 0 : Math.min(180, widest([...labels, ...floors.map(({ name }) => name)]));
  const costs = lines.flatMap((line) => line.points.flatMap(({ cost }) => [cost.at, cost.lo, cost.hi]));
  costs.push(...floors.flatMap(({ points }) => points.map(([, at]) => at)));
  const height = Math.min(460, Math.max(320, width * 0.5));
  const description = `${panel.title}: ${title} against size, ${lines.length} lines`;
  const { plot, left, right, bottom, y } = costPlot(container, height, description, costs, timeScale(state), names);
  const x = makeScale(panel.sizes.map(([size]) => size), left + 12, right - 12, "size_log");
  const every = Math.ceil(panel.sizes.length / Math.max(3, Math.floor((right - left) / 70)));
  axisBelow(plot, { ...x, start: left, end: right, ticks: panel.sizes.filter((_, index) => index % every === 0) }, 12, bottom);
  // The known ones lie at the back.
  for (const { from, to, known, text } of crossings.toReversed()) {
    const [start, end] = [from, to].map(x.place);
    const area = { x: start, y: 12, width: end - start, height: bottom - 12, class: known ? "band" : "seeming" };
    plot.prepend(withTip(svg("rect", area), [text]));
  }
  const ends = floors.map(({ name, points }) => {
    const places = points.map(([size, at]) => [x.place(size), y.place(at)]);
    plot.append(svg("path", { d: `M${places.join("L")}`, class: "floor" }));
    return { name, at: places.at(-1) };
  });
  lines.forEach((line, index) => {
    // Intervals stand next to one another, so that all can be seen.
    const aside = Math.min(5, 60 / lines.length) * (index - (lines.length - 1) / 2);
    const places = line.points.map(({ size, cost }) => [x.place(size), y.place(cost.at)]);
    plot.append(ofTransport(line.transport, through(places, line.dashes)));
    line.points.forEach((point, at) => plot.append(sizePoint(line, point, places[at], aside, y)));
    ends.push({ name: line.label, at: places.at(-1), transport: line.transport });
  });
  if (names) plot.append(...endNames(ends, right, width, bottom));
  return floors.length > 0;
}

function sizePoint(line, { text, cost, cell }, [x, y], aside, scale) {
  const lines = [line.label, `${text}: ${cost.text}`, interval(cost.interval), `${cell.epochs} epochs`];
  const bounded = !missing(cost.lo) && !missing(cost.hi);
  const point = pointWithTip(line.transport, x, y, 4.5, lines, !bounded);
  if (bounded) {
    const [low, high] = [cost.lo, cost.hi].map(scale.place);
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
