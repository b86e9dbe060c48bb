// Cost by transport, a panel a workload.

const MOST_ROWS = 60;

// The cells to draw of a workload, and a note where they are not all.
function limited(cells, estimate, most) {
  if (cells.length <= most) return [cells, null];
  const cheapest = [...cells].sort((a, b) => (estimate(a)?.median ?? Infinity) - (estimate(b)?.median ?? Infinity));
  return [cheapest.slice(0, most), `Drawn are the ${most} cheapest of ${cells.length} cells; the table has them all.`];
}

function costRow(cell, state) {
  const metric = METRICS[state.metric];
  const estimate = metric.estimate(cell);
  const name = labelOf(cell);
  if (!estimate) return { name, faded: true, figure: "no figure", cell, transport: cell.transport };
  const { median, lo, hi } = estimate;
  const interval = timeInterval(lo, hi);
  const modes = state.metric === "wall" ? (cell.modes ?? []) : [];
  const groups = modes.map(
    (mode) => `${percentText(Number(mode.share.toFixed(2)))} of epochs: ${time(mode.wall_ns_per_op)}`,
  );
  const floor = state.metric === "wall" && cell.floor ? cell.floor : null;
  const multiple = floor ? [`${ratioText(floor.multiple.median)} × floor (${time(floor.ns_per_op)}: ${visible(floor.made_of)})`] : [];
  const lines = [name, `${metric.short} ${time(median)}`, interval ? `interval ${interval}` : "no interval", ...groups];
  return {
    name,
    cell,
    at: median,
    lo,
    hi,
    transport: cell.transport,
    figure: time(median),
    marks: modes.map((mode) => mode.wall_ns_per_op),
    floor: floor?.ns_per_op,
    tip: [...lines, ...multiple, `${cell.epochs} epochs`],
  };
}

function drawCost(figure, state) {
  const panels = figure.querySelector(".panels");
  disposePlots(panels);
  const metric = METRICS[state.metric];
  const style = pageStyle();
  const notes = [metric.note];
  const figures = [];
  let room = MOST_ROWS * 2;
  for (const workload of state.workloads) {
    const measured = measuredCells(workload, state);
    if (!measured.length) continue;
    if (room <= 0) {
      notes.push("More workloads than fit are left out; choose one above.");
      break;
    }
    const [cells, note] = limited(measured, metric.estimate, MOST_ROWS);
    notes.push(note);
    room -= cells.length + 1;
    const rows = cells.map((cell) => costRow(cell, state));
    costPanel(panels, workload, rows, state, style);
    for (const { name, cell, at, lo, hi } of rows) {
      const interval = missing(at) ? "" : (timeInterval(lo, hi) ?? "no interval");
      figures.push([workloadName(workload), name, missing(at) ? "no figure" : time(at), interval, String(cell.epochs)]);
    }
  }
  if (state.metric === "wall" && state.workloads.some((one) => measuredCells(one, state).some((cell) => cell.modes))) {
    notes.push("Small rings: the two groups that a cell's epochs fall into.");
  }
  if (state.metric === "wall" && state.workloads.some((one) => measuredCells(one, state).some((cell) => cell.floor))) {
    notes.push("Dashed line: the floor, the least that the parts of such an operation cost here in the same rounds.");
  }
  if (!figures.length) panels.append(element("p", "Nothing of this was measured, or all of it is switched off.", "empty"));
  setNote(figure, notes);
  figureTable(figure, ["workload", "cell", metric.short, "interval", "epochs"], figures);
}

function costPanel(panels, workload, rows, state, style) {
  const panel = element("div", undefined, "panel");
  panel.append(element("h4", workloadName(workload)));
  panels.append(panel);
  const values = rows.flatMap((row) => [row.at, row.lo, row.hi, row.floor, ...(row.marks ?? [])]).filter((value) => !missing(value));
  const space = margins(panel, rows.map((row) => row.name), rows.map((row) => row.figure));
  const axis = makeAxis(values, { log: state.scale === "log", most: space.most });
  drawPlot(
    panel,
    rows.length * 28 + 40,
    {
      grid: { left: space.left, right: space.right, top: 4, bottom: 30 },
      xAxis: chartAxis(axis, time, style),
      yAxis: rowAxis(rows.length),
      series: [rowTexts(rows, space, style), intervalSeries(rows, axis, style)],
    },
    `${workloadName(workload)}: ${METRICS[state.metric].title} of ${rows.length} cells, with intervals; the figures are below`,
  );
}
