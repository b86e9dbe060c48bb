// The charts: they choose from the figures that come with the page, and place them.

const MOST_ROWS = 60;
const MOST_LINES = 40;
const MOST_SEEMING = 6;

const { cells, transports, quantities } = data;
const timeScale = (state) => (state.scale === "log" ? "time_log" : "time");
const quantityOf = (state) => quantities.find(({ name }) => name === state.metric);
const transportOf = (cell) => transports[cell.transport];

// A cell's value with its bounds and texts, or null.
function estimate(cell, name) {
  if (!cell[name]) return null;
  const [at, lo, hi, text, interval] = cell[name];
  return { at, lo, hi, text, interval };
}

const shownCells = (workload, state) => workload.cells.filter((id) => !state.hidden.has(cells[id].transport));

// The cells to draw of these, and a note where they are not all.
function limited(workload, ids, name, most) {
  if (ids.length <= most) return [ids, null];
  const order = workload.cheapest[name] ?? workload.cells;
  const wanted = new Set(ids);
  const cheapest = order.filter((id) => wanted.has(id)).slice(0, most);
  return [cheapest, `The ${most} cheapest of ${ids.length} cells are drawn; the tables above list all.`];
}

// The cells to draw of each workload that has some, as far as there is room for them.
function eachWorkload(state, name, most, usable, draw) {
  const notes = [];
  let drawn = 0;
  for (const workload of state.workloads) {
    const all = shownCells(workload, state).filter((id) => usable(cells[id]));
    if (!all.length) continue;
    const [ids, note] = limited(workload, all, name, most);
    if (drawn && drawn + ids.length > 2 * MOST_ROWS) {
      notes.push("Some workloads are left out; choose one above.");
      break;
    }
    notes.push(note);
    drawn += ids.length;
    draw(workload, ids);
  }
  return notes;
}

function costRow(cell, state) {
  const [name, transport, cost] = [cell.label, transportOf(cell), estimate(cell, state.metric)];
  if (!cost) return { name, transport, faded: true, figure: "no figure" };
  const wall = state.metric === "wall";
  const modes = wall ? (cell.modes ?? []) : [];
  const floor = wall && cell.floor ? cell.floor : [];
  const lines = [name, `${quantityOf(state).short} ${cost.text}`, interval(cost.interval)];
  const tip = [...lines, ...modes.map(([, text]) => text), ...floor.slice(1), `${cell.epochs} epochs`];
  return { name, transport, ...cost, figure: cost.text, marks: modes.map(([at]) => at), floor: floor[0], tip };
}

const interval = (text) => (text.startsWith("no ") ? text : `interval ${text}`);
const extents = (rows) => rows.flatMap((row) => [row.at, row.lo, row.hi, row.floor, ...(row.marks ?? [])]);

function drawCost(figure, state) {
  const { addPanel, finish } = begin(figure);
  const { title, short, note } = quantityOf(state);
  const table = [];
  const notes = eachWorkload(state, state.metric, MOST_ROWS, () => true, (workload, ids) => {
    const rows = ids.map((id) => costRow(cells[id], state));
    const description = `${workload.name}: ${title} of ${rows.length} cells, with intervals`;
    rowPlot(addPanel(workload.name), rows, extents(rows), timeScale(state), description, intervalRow);
    rows.forEach((row, index) => table.push([workload.name, row.name, row.figure, row.interval, cells[ids[index]].epochs]));
  });
  const some = (what) => state.metric === "wall" && state.workloads.some((one) => shownCells(one, state).some((id) => cells[id][what]));
  if (some("modes")) notes.push("Small rings: the costs of the two groups that a cell's epochs fall into.");
  if (some("floor")) notes.push(data.floors);
  const empty = table.length ? null : "No cells to show: none was measured, or their transports are switched off.";
  finish(["workload", "cell", short, "interval", "epochs"], table, [note, ...notes], empty);
}

function contrastRow(id, workload, state) {
  const common = { name: cells[id].label, transport: transportOf(cells[id]) };
  const named = (other) => cells[other].label === state.baseline;
  const baseline = state.baseline === null ? workload.against[workload.cells.indexOf(id)] : workload.cells.find(named);
  if (missing(baseline)) return { ...common, faded: true, figure: "no baseline here" };
  if (baseline === id) return { ...common, faded: true, figure: "baseline", against: "itself" };
  const against = cells[baseline].label;
  const found = workload.ratios[state.metric][baseline]?.[id];
  if (!found) return { ...common, faded: true, figure: "no figure", against };
  const [at, ratio, lo, hi, bounds = "no interval", verdict = "", from = 0] = found;
  const source = data.sources[from];
  const tip = [common.name, `${ratio} × ${against}`, interval(bounds), verdict && `verdict: ${verdict}`, source];
  const figure = `${ratio} (${bounds}) ${verdict}`.trim();
  return { ...common, at, lo, hi, ratio, figure, against, interval: bounds, verdict, source, tip: tip.filter(Boolean) };
}

function drawForest(figure, state) {
  const { panels, finish } = begin(figure);
  const rows = [];
  const table = [];
  const notes = eachWorkload(state, state.metric, MOST_ROWS, () => true, (workload, ids) => {
    const own = ids.map((id) => contrastRow(id, workload, state));
    rows.push({ heading: true, name: workload.name }, ...own);
    for (const row of own) table.push([workload.name, row.name, row.against, row.ratio ?? row.figure, row.interval, row.verdict, row.source]);
  });
  const placed = rows.filter((row) => !missing(row.at));
  const hollow = placed.filter((row) => missing(row.lo) && missing(row.hi)).length;
  if (hollow) notes.push(`Hollow marks (${hollow}): the document has no interval for these ratios.`);
  if (state.baseline !== null && !data.paired) notes.push("This document has too many cells for every baseline: only ratios that the run compared are shown.");
  if (placed.length) contrastPlot(panels, rows, extents(placed));
  const titles = ["workload", "cell", "against", "ratio", "interval", "verdict", "from"];
  finish(titles, table, [quantityOf(state).note, ...notes], placed.length ? null : "There is nothing to compare here.");
}

function contrastPlot(panels, rows, values) {
  const { from, to, text } = data.margin;
  const description = `Ratios of costs to the baseline's, with intervals, the margin of ${text} as a band`;
  rowPlot(panels, rows, [...values, from, 1, to], "ratio_log", description, intervalRow, (plot, scale, top, bottom) => {
    const [x, one, end] = [from, 1, to].map(scale.place);
    plot.append(svg("rect", { x, y: top, width: end - x, height: bottom - top, class: "band" }), segment(one, top, one, bottom, "level"));
  });
}

function drawEpochs(figure, state) {
  const { panels, finish } = begin(figure);
  const { cell } = state;
  const name = state.metric === "p99" ? "wall" : state.metric;
  const cost = cell && estimate(cell, name);
  const modes = (name === "wall" && cell?.modes) || [];
  const notes = [state.metric === "p99" ? "A batch has no percentiles; elapsed time per operation is shown instead." : null, cell?.every];
  if (modes.length) notes.push(`Dotted: the two groups of epochs (${modes.map(([, text]) => text).join("; ")}).`);
  if (cost) notes.push("Solid: the median over epochs. Shaded: its interval, if there is one.");
  const batches = (cell?.batches ?? []).map(([epoch, round, position, operations, ...costs]) => {
    const [at, text] = costs.slice(name === "cpu" ? 2 : 0);
    return { epoch, round, position, operations, at, text };
  });
  if (batches.length) epochPlot(panels, cell, batches, cost, modes, timeScale(state));
  const rows = batches.map(({ epoch, round, position, operations, text }) => [epoch, round, position, operations, text]);
  const titles = ["epoch", "round", "position", "operations", quantities.find((one) => one.name === name).short];
  finish(titles, rows, notes, batches.length ? null : "The document has no batches of this cell.");
}

function epochPlot(panels, cell, batches, cost, modes, kind) {
  const levels = [cost?.at, cost?.lo, cost?.hi, ...modes.map(([at]) => at)];
  const costs = [...batches.map(({ at }) => at), ...levels];
  const { plot, left, right, bottom, y } = costPlot(panels, 300, `Every batch of ${cell.label}, by epoch`, costs, kind);
  const x = makeScale(batches.map(({ epoch }) => epoch), left, right, "epoch");
  axisBelow(plot, x, 12, bottom);
  if (cost && !missing(cost.lo) && !missing(cost.hi)) {
    const top = y.place(cost.hi);
    plot.prepend(svg("rect", { x: left, y: top, width: right - left, height: y.place(cost.lo) - top, class: "band" }));
  }
  const across = (value, className) => plot.append(segment(left, y.place(value), right, y.place(value), className));
  if (cost) across(cost.at, "level");
  for (const [at] of modes) across(at, "level dotted");
  for (const { epoch, round, at, text, operations } of batches.filter(({ at }) => !y.log || at > 0)) {
    const lines = [cell.label, `epoch ${epoch}, round ${round}`, text, `${operations} operations`];
    plot.append(pointWithTip(transportOf(cell), x.place(epoch), y.place(at), 3.6, lines));
  }
}

function drawLatency(figure, state) {
  const { addPanel, finish } = begin(figure);
  const table = [];
  const notes = eachWorkload(state, "p99", MOST_LINES, (cell) => cell.latency, (workload, ids) => {
    latencyPlot(addPanel(workload.name), workload, ids.map((id) => cells[id]), timeScale(state));
    for (const { label, latency } of ids.map((id) => cells[id])) {
      table.push([workload.name, label, ...latency.times.map(([, text]) => text), latency.count]);
    }
  });
  const unsampled = (workload) => {
    const ids = shownCells(workload, state);
    return ids.length && !ids.some((id) => cells[id].latency);
  };
  const without = state.workloads.filter(unsampled).map(({ name }) => name);
  if (without.length) notes.push(`Latency was not sampled: ${without.slice(0, 4).join("; ")}${without.length > 4 ? "; …" : ""}.`);
  if (table.length) notes.push("Percentiles of sampled operations, without intervals. The largest grows with the number of samples.");
  const empty = table.length ? null : "Latency of single operations was not sampled here.";
  finish(["workload", "cell", ...data.percentiles, "operations sampled"], table, notes, empty);
}

function latencyPlot(panel, workload, sampled, kind) {
  const values = sampled.flatMap(({ latency }) => latency.times.map(([at]) => at));
  const description = `${workload.name}: latency by percentile of ${sampled.length} cells`;
  const { plot, left, right, bottom, y } = costPlot(panel, 280, description, values, kind);
  const x = (index) => left + ((index + 0.5) * (right - left)) / data.percentiles.length;
  data.percentiles.forEach((text, index) => plot.append(label(text, x(index), bottom + 18, "tick middle")));
  for (const { label: name, latency, transport } of sampled) {
    const points = latency.times.map(([value, text], index) => ({ value, text, index, at: [x(index), y.place(value)] }));
    const placed = points.filter(({ value }) => !y.log || value > 0);
    if (placed.length) plot.append(ofTransport(transports[transport], through(placed.map(({ at }) => at))));
    for (const { at, text, index } of placed) {
      const lines = [name, `${data.percentiles[index]}: ${text}`, `${latency.count} operations sampled`];
      plot.append(pointWithTip(transports[transport], ...at, 4.2, lines));
    }
  }
}

function drawProcessor(figure, state) {
  const { addPanel, finish } = begin(figure);
  const table = [];
  const notes = eachWorkload(state, "cpu", MOST_ROWS, (cell) => cell.usage, (workload, ids) => {
    const rows = ids.map((id) => ({ name: cells[id].label, ...cells[id].usage }));
    const description = `${workload.name}: processor time of client and server, user and system, of ${rows.length} cells`;
    rowPlot(addPanel(workload.name), rows, rows.map(({ whole }) => whole), "time", description, partsRow);
    for (const { name, parts, switches } of rows) table.push([workload.name, name, ...parts.map(([, text]) => text), ...switches]);
  });
  notes.unshift("Each part is the median of its own epochs, so the parts need not add up to the median of the whole.");
  const titles = ["workload", "cell", ...data.parts, "voluntary switches", "involuntary switches"];
  finish(titles, table, notes, table.length ? null : "The document has no processor time by side.");
}

// The parts of a row end to end.
function partsRow(row, scale, y) {
  const group = svg("g", {});
  let x = scale.start;
  row.parts.forEach(([value, text], part) => {
    const width = scale.place(value) - scale.start;
    const bar = svg("rect", { x, y: y - 8, width, height: 16, class: `part part${part}` });
    group.append(withTip(bar, [row.name, `${data.parts[part]}: ${text}`]));
    x += width;
  });
  return group;
}
