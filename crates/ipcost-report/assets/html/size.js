// Cost against size, a line a transport, and where the cheaper of two changes.

const MOST_LINES = 40;
const MOST_CROSSINGS = 6;

const sizeOf = (cell) => (cell.pattern === "connect" && cell.speaks_first === "server" ? cell.reply : cell.size);

// What two cells have in common that differ in size alone.
const apartFromSize = (cell) =>
  JSON.stringify([
    cell.pattern,
    cell.transport,
    cell.reply === cell.size ? "same" : sizeOf(cell) === cell.reply ? cell.size : cell.reply,
    cell.concurrency,
    cell.placement,
    cell.client,
    cell.server,
    cell.speaks_first,
    cell.options,
  ]);

// Lines of cells, by size; lines of one cell are none.
function sizeLines(state) {
  const lines = new Map();
  for (const workload of run.workloads.filter((one) => one.pattern === state.pattern)) {
    for (const cell of measuredCells(workload, state)) {
      const estimate = METRICS[state.metric].estimate(cell);
      if (!estimate || estimate.median <= 0 || sizeOf(cell) <= 0) continue;
      const key = apartFromSize(cell);
      if (!lines.has(key)) lines.set(key, { cells: [], transport: cell.transport });
      lines.get(key).cells.push({ cell, estimate, size: sizeOf(cell) });
    }
  }
  const found = [...lines.values()].filter((line) => new Set(line.cells.map((one) => one.size)).size > 1);
  for (const line of found) {
    line.cells.sort((a, b) => a.size - b.size);
    line.name = lineName(line.cells.map((one) => one.cell));
  }
  return found;
}

// The label that its cells share, or what they have in common.
function lineName(cells) {
  if (cells.every((cell) => cell.label === cells[0].label)) {
    const { concurrency, placement } = cells[0];
    return labelOf(cells[0]) + (concurrency > 1 ? `, ${concurrency} at once` : "") + (placement === "free" ? "" : `, ${placement}`);
  }
  const { transport, client, server } = cells[0];
  return visible(transport) + (client === "native" && server === "native" ? "" : ` ${visible(client)}→${visible(server)}`);
}

// Where the cheaper of two lines changes: between sizes at which both directions are known, or by medians alone.
function crossingsOf(first, second, metric) {
  const found = [];
  let known = null;
  let last = null;
  for (const one of first.cells) {
    const other = second.cells.find((candidate) => candidate.size === one.size);
    if (!other) continue;
    const comparison = compare(metric, one.cell, other.cell);
    const direction = comparison?.source === "medians" ? 0 : knownDirection(comparison);
    const sign = Math.sign(one.estimate.median - other.estimate.median);
    if (direction && known && known.direction !== direction) {
      found.push({ from: known.size, to: one.size, known: true, cheaper: direction > 0 ? first : second, then: direction > 0 ? second : first });
    } else if (last && sign && last.sign !== sign) {
      found.push({ from: last.size, to: one.size, known: false, cheaper: sign > 0 ? first : second, then: sign > 0 ? second : first });
    }
    if (direction) known = { size: one.size, direction };
    if (sign) last = { size: one.size, sign };
  }
  // What is known says more than what only seems so within it.
  const sure = found.filter((one) => one.known);
  return found.filter((one) => one.known || !sure.some((other) => other.from <= one.from && one.to <= other.to));
}

function allCrossings(lines, metric) {
  const found = [];
  lines.forEach((first, index) => {
    for (const second of lines.slice(index + 1)) found.push(...crossingsOf(first, second, metric));
  });
  return found.sort((a, b) => Number(b.known) - Number(a.known));
}

const crossingText = ({ from, to, known, cheaper, then }) =>
  known
    ? `${cheaper.name} is cheaper up to ${sizeText(from)}, ${then.name} from ${sizeText(to)}: the two cross between.`
    : `${cheaper.name} and ${then.name} seem to cross between ${sizeText(from)} and ${sizeText(to)}; that is not known.`;

function drawSize(figure, state) {
  const panels = figure.querySelector(".panels");
  disposePlots(panels);
  const all = sizeLines(state);
  const lines = all.slice(0, MOST_LINES);
  const list = figure.querySelector(".crossings");
  list.replaceChildren();
  const rows = lines.flatMap((line) =>
    line.cells.map(({ size, estimate }) => [line.name, sizeText(size), time(estimate.median), timeInterval(estimate.lo, estimate.hi) ?? "no interval"]),
  );
  figureTable(figure, ["line", "size", METRICS[state.metric].short, "interval"], rows);
  setNote(figure, [METRICS[state.metric].note, all.length > MOST_LINES ? `Drawn are ${MOST_LINES} of ${all.length} lines; switch transports off to see others.` : null]);
  if (!lines.length) {
    panels.append(element("p", "This takes cells that differ in size alone: measure several with --sizes 64,4096,65536.", "empty"));
    return;
  }
  const crossings = allCrossings(lines, state.metric);
  const told = crossings.slice(0, Math.max(MOST_CROSSINGS, crossings.filter((one) => one.known).length));
  for (const crossing of told) list.append(element("li", crossingText(crossing), crossing.known ? "known" : "seeming"));
  if (told.length < crossings.length) list.append(element("li", `and ${crossings.length - told.length} more that are not known`, "seeming"));
  if (!crossings.length) list.append(element("li", "No two lines cross within these sizes."));
  sizePlot(panels, lines, told, state);
}

function sizePlot(panels, lines, crossings, state) {
  const style = pageStyle();
  const width = panels.clientWidth || 700;
  const longest = Math.min(26, lines.reduce((most, line) => Math.max(most, line.name.length), 0));
  const right = width < 480 || lines.length > 12 ? 20 : longest * 7 + 24;
  const most = Math.max(3, Math.floor((width - 80 - right) / 80));
  const floors = state.metric === "wall" ? floorLines(lines) : [];
  const estimates = lines.flatMap((line) => line.cells.map((one) => one.estimate));
  const x = makeAxis(lines.flatMap((line) => line.cells.map((one) => one.size)), { log: true, most });
  const sizes = [...new Set(lines.flatMap((line) => line.cells.map((one) => one.size)))].sort((a, b) => a - b);
  const every = Math.ceil(sizes.length / most);
  x.ticks = sizes.filter((_, index) => index % every === 0);
  const y = makeAxis(
    [...estimates.flatMap(({ median, lo, hi }) => [median, lo, hi]), ...floors.flatMap((floor) => floor.cells.map((one) => one.estimate.median))].filter((value) => !missing(value)),
    { log: state.scale === "log", most: 7 },
  );
  const names = spreadNames([...lines, ...floors], y);
  const series = [crossingSeries(crossings, x, style), ...floors.flatMap((floor) => floorSeries(floor, x, y, style, right > 20 ? names.get(floor) : null))];
  // Intervals stand beside one another, so that all can be seen.
  const aside = (index) => Math.min(5, 60 / lines.length) * (index - (lines.length - 1) / 2);
  lines.forEach((line, index) => series.push(...lineSeries(line, x, y, style, right > 20 ? names.get(line) : null, aside(index))));
  drawPlot(
    panels,
    Math.min(460, Math.max(320, width * 0.5)),
    {
      grid: { left: 76, right, top: 16, bottom: 34 },
      xAxis: chartAxis(x, sizeText, style),
      yAxis: chartAxis(y, time, style),
      series,
    },
    `${METRICS[state.metric].title} against size, ${lines.length} lines; the figures and the crossings are below`,
  );
}

// Where the names at the ends of lines stand, in positions of the axis, none upon another.
function spreadNames(lines, axis) {
  const gap = (axis.at(axis.highest) - axis.at(axis.lowest)) * 0.05;
  const ends = lines.map((line) => ({ line, at: axis.at(line.cells.at(-1).estimate.median) })).sort((a, b) => a.at - b.at);
  for (let index = 1; index < ends.length; index += 1) ends[index].at = Math.max(ends[index].at, ends[index - 1].at + gap);
  const over = ends.length ? ends.at(-1).at - axis.at(axis.highest) : 0;
  if (over > 0) {
    ends.at(-1).at -= over;
    for (let index = ends.length - 2; index >= 0; index -= 1) ends[index].at = Math.min(ends[index].at, ends[index + 1].at - gap);
  }
  return new Map(ends.map(({ line, at }) => [line, at]));
}

function lineSeries(line, x, y, style, nameAt, aside) {
  const stroke = transportColour(style, line.transport);
  const data = line.cells.map(({ cell, estimate, size }) => ({
    value: [x.at(size), y.at(estimate.median)],
    estimate,
    tip: [line.name, `${sizeText(size)}: ${time(estimate.median)}`, timeInterval(estimate.lo, estimate.hi) ?? "no interval", `${cell.epochs} epochs`],
  }));
  const joined = {
    type: "line",
    data: data.map((one) => one.value),
    silent: true,
    showSymbol: false,
    symbol: "none",
    lineStyle: { color: stroke, width: 2 },
    z: 2,
  };
  const points = {
    type: "custom",
    data,
    z: 3,
    renderItem: (parameters, api) => {
      const { estimate, value } = data[parameters.dataIndex];
      const [px, py] = api.coord(value);
      const place = (one) => api.coord([value[0], y.log && one <= 0 ? y.at(y.lowest) : y.at(one)])[1];
      const { lo, hi } = estimate;
      const children = [];
      if (!missing(lo) && !missing(hi)) {
        const lineStyle = { stroke, lineWidth: 1.4, opacity: 0.75 };
        children.push({ type: "line", shape: { x1: px + aside, y1: place(lo), x2: px + aside, y2: place(hi) }, style: lineStyle });
        for (const one of [lo, hi]) children.push({ type: "line", shape: { x1: px + aside - 3, y1: place(one), x2: px + aside + 3, y2: place(one) }, style: lineStyle });
      }
      const hollow = missing(lo) || missing(hi);
      children.push(mark(markOf(line.transport), px, py, 4.5, stroke, { hollow, paper: style.paper }));
      const last = parameters.dataIndex === data.length - 1;
      if (last && !missing(nameAt)) children.push(text(shorten(line.name, 26), px + 20, api.coord([0, nameAt])[1], { fill: stroke, fontWeight: 600 }));
      return { type: "group", children };
    },
    clip: false,
  };
  return [joined, points];
}

// The floors of lines, each once: most transports have the same.
function floorLines(lines) {
  const found = new Map();
  for (const line of lines) {
    const points = line.cells.filter((one) => one.cell.floor).map((one) => ({ size: one.size, estimate: { median: one.cell.floor.ns_per_op } }));
    if (!points.length) continue;
    const key = JSON.stringify(points);
    if (!found.has(key)) found.set(key, { cells: points, of: [] });
    found.get(key).of.push(line.name);
  }
  const all = [...found.values()];
  for (const floor of all) floor.name = all.length === 1 && floor.of.length === lines.length ? "floor" : `floor of ${floor.of.join(", ")}`;
  return all;
}

function floorSeries(floor, x, y, style, nameAt) {
  const data = floor.cells.map(({ size, estimate }) => [x.at(size), y.at(estimate.median)]);
  const line = {
    type: "line",
    data,
    silent: true,
    showSymbol: false,
    symbol: "none",
    lineStyle: { color: style.ink, width: 1.4, type: [5, 3] },
    z: 2,
  };
  const name = {
    type: "custom",
    silent: true,
    clip: false,
    data: [data.at(-1)],
    renderItem: (parameters, api) => {
      const [px] = api.coord(data.at(-1));
      return text(shorten(floor.name, 26), px + 20, api.coord([0, nameAt])[1], { fill: style.ink });
    },
  };
  return missing(nameAt) ? [line] : [line, name];
}

function crossingSeries(crossings, x, style) {
  const data = crossings.map((crossing) => ({ value: [x.at(crossing.from), 0], crossing, tip: [crossingText(crossing)] }));
  return {
    type: "custom",
    data,
    z: 1,
    renderItem: (parameters, api) => {
      const { crossing } = data[parameters.dataIndex];
      const { y, height } = parameters.coordSys;
      const [from, to] = [crossing.from, crossing.to].map((size) => api.coord([x.at(size), 0])[0]);
      const drawn = crossing.known ? { fill: style.band } : { fill: "transparent", stroke: style.rule, lineDash: [4, 4] };
      return { type: "rect", shape: { x: from, y, width: to - from, height }, style: drawn };
    },
  };
}
