// Latency by percentile, a line a cell.

const PERCENTILES = [["p50", "50 %"], ["p90", "90 %"], ["p99", "99 %"], ["p999", "99.9 %"], ["max", "largest"]];

function drawLatency(figure, state) {
  const panels = figure.querySelector(".panels");
  disposePlots(panels);
  const style = pageStyle();
  const figures = [];
  const notes = [];
  const without = [];
  let drawn = 0;
  for (const workload of state.workloads) {
    const measured = measuredCells(workload, state);
    const sampled = measured.filter((cell) => cell.latency_ns);
    if (!sampled.length && measured.length) without.push(workloadName(workload));
    if (!sampled.length || drawn + sampled.length > 2 * MOST_ROWS && drawn) continue;
    const [cells, note] = limited(sampled, METRICS.p99.estimate, MOST_LINES);
    notes.push(note);
    drawn += cells.length;
    latencyPanel(panels, workload, cells, state, style);
    for (const cell of cells) {
      const values = PERCENTILES.map(([key]) => time(cell.latency_ns[key]));
      figures.push([workloadName(workload), labelOf(cell), ...values, String(cell.latency_ns.count)]);
    }
  }
  if (without.length) notes.push(`Latency was not sampled: ${without.slice(0, 4).join("; ")}${without.length > 4 ? "; …" : ""}.`);
  if (!figures.length) panels.append(element("p", "Latency of single operations was not sampled here.", "empty"));
  else notes.push("Percentiles of sampled operations; the document holds no intervals for them. The largest of many is larger than that of few.");
  setNote(figure, notes);
  figureTable(figure, ["workload", "cell", ...PERCENTILES.map(([, name]) => name), "operations sampled"], figures);
}

function latencyPanel(panels, workload, cells, state, style) {
  const panel = element("div", undefined, "panel");
  panel.append(element("h4", workloadName(workload)));
  panels.append(panel);
  const y = makeAxis(cells.flatMap((cell) => PERCENTILES.map(([key]) => cell.latency_ns[key])), { log: state.scale === "log", most: 7 });
  const series = cells.flatMap((cell) => {
    const stroke = transportColour(style, cell.transport);
    const data = PERCENTILES.flatMap(([key, name], index) => {
      const value = cell.latency_ns[key];
      if (y.log && value <= 0) return [];
      return [{ value: [index, y.at(value)], tip: [labelOf(cell), `${name}: ${time(value)}`, `${cell.latency_ns.count} operations sampled`] }];
    });
    return [
      { type: "line", silent: true, symbol: "none", data: data.map((one) => one.value), lineStyle: { color: stroke, width: 1.8 } },
      {
        type: "custom",
        z: 3,
        data,
        renderItem: (parameters, api) => {
          const [px, py] = api.coord(data[parameters.dataIndex].value);
          return mark(markOf(cell.transport), px, py, 4.2, stroke);
        },
      },
    ];
  });
  const narrow = (panel.clientWidth || 700) < 480;
  drawPlot(
    panel,
    280,
    {
      grid: { left: 76, right: 26, top: 10, bottom: 30 },
      xAxis: {
        type: "value", min: -0.2, max: 4.2, axisTick: { show: false }, splitLine: { show: false }, axisLine: { onZero: false, lineStyle: { color: style.rule } },
        axisLabel: { customValues: [0, 1, 2, 3, 4], formatter: (index) => PERCENTILES[index]?.[1] ?? "", color: style.quiet, fontSize: narrow ? 11 : 12 },
      },
      yAxis: chartAxis(y, time, style),
      series,
    },
    `${workloadName(workload)}: latency by percentile of ${cells.length} cells; the figures are below`,
  );
}
