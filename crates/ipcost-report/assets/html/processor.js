// Processor time for one operation, by who spent it: client or server, in user code or in the kernel.

const PARTS = [
  ["client_user_ns", "client, user"],
  ["client_sys_ns", "client, system"],
  ["server_user_ns", "server, user"],
  ["server_sys_ns", "server, system"],
];

function drawProcessor(figure, state) {
  const panels = figure.querySelector(".panels");
  disposePlots(panels);
  const style = pageStyle();
  const figures = [];
  const notes = ["Medians over epochs, each part on its own, so they need not add up to the median of the whole."];
  let drawn = 0;
  for (const workload of state.workloads) {
    const measured = measuredCells(workload, state).filter((cell) => cell.usage_per_op);
    if (!measured.length || (drawn && drawn + measured.length > 2 * MOST_ROWS)) continue;
    const [cells, note] = limited(measured, METRICS.cpu.estimate, MOST_ROWS);
    notes.push(note);
    drawn += cells.length;
    processorPanel(panels, workload, cells, style);
    for (const cell of cells) {
      const { voluntary_switches, involuntary_switches } = cell.usage_per_op;
      const parts = PARTS.map(([key]) => time(cell.usage_per_op[key]));
      figures.push([workloadName(workload), labelOf(cell), ...parts, ...[voluntary_switches, involuntary_switches].map(threeDigits)]);
    }
  }
  if (!figures.length) panels.append(element("p", "What operations took of the processor is not in this document.", "empty"));
  setNote(figure, notes);
  figureTable(figure, ["workload", "cell", ...PARTS.map(([, name]) => name), "voluntary switches", "involuntary switches"], figures);
}

function processorPanel(panels, workload, cells, style) {
  const panel = element("div", undefined, "panel");
  panel.append(element("h4", workloadName(workload)));
  panels.append(panel);
  const total = (cell) => PARTS.reduce((sum, [key]) => sum + cell.usage_per_op[key], 0);
  const rows = cells.map((cell) => ({ name: labelOf(cell), figure: "" }));
  const space = margins(panel, rows.map((row) => row.name), null);
  const axis = makeAxis(cells.map(total), { log: false, most: space.most });
  const data = cells.flatMap((cell, row) => {
    let from = 0;
    return PARTS.map(([key, name], part) => {
      const value = cell.usage_per_op[key];
      const piece = { value: [axis.at(from), row], from, to: from + value, part, tip: [labelOf(cell), `${name}: ${time(value)}`] };
      from += value;
      return piece;
    });
  });
  const bars = {
    type: "custom",
    data,
    renderItem: (parameters, api) => {
      const { from, to, part, value } = data[parameters.dataIndex];
      const [x, y] = api.coord([from, value[1]]);
      const width = api.coord([to, value[1]])[0] - x;
      return { type: "rect", shape: { x, y: y - 8, width, height: 16 }, style: { fill: style.parts[part], stroke: style.paper, lineWidth: 0.6 } };
    },
  };
  drawPlot(
    panel,
    rows.length * 28 + 40,
    {
      grid: { left: space.left, right: 24, top: 4, bottom: 30 },
      xAxis: chartAxis(axis, time, style),
      yAxis: rowAxis(rows.length),
      series: [rowTexts(rows, space, style), bars],
    },
    `${workloadName(workload)}: processor time of client and server, user and system, of ${cells.length} cells; the figures are below`,
  );
}
