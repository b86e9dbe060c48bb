// The contrasts: how many times the baseline's cost, with the margin as a band.

function contrastRow(cell, workload, state) {
  const name = labelOf(cell);
  const common = { name, cell, transport: cell.transport };
  const baseline = baselineFor(cell, workload, state.baseline);
  if (!baseline) return { ...common, faded: true, figure: "no baseline here" };
  if (baseline.id === cell.id) return { ...common, faded: true, figure: "baseline", against: "itself" };
  const found = compare(state.metric, cell, baseline);
  const against = labelOf(baseline);
  if (!found) return { ...common, faded: true, figure: "no figure", against };
  const interval = ratioInterval(found.ratio, found.lo, found.hi);
  const verdict = found.source === "contrast" ? verdictText(found) : "";
  return {
    ...common,
    at: found.ratio,
    lo: found.lo,
    hi: found.hi,
    figure: `${ratioText(found.ratio)} ${interval ? `(${interval})` : "(no interval)"}`,
    against,
    interval,
    verdict,
    source: comparisonSource(found),
    tip: [
      name,
      `${ratioText(found.ratio)} × ${against}`,
      interval ? `interval ${interval}` : "no interval",
      verdict ? `verdict: ${verdict}` : "",
      comparisonSource(found),
    ].filter(Boolean),
  };
}

function drawForest(figure, state) {
  const panels = figure.querySelector(".panels");
  disposePlots(panels);
  const style = pageStyle();
  const rows = [];
  const notes = [METRICS[state.metric].note];
  for (const workload of state.workloads) {
    const measured = measuredCells(workload, state);
    const [cells, note] = limited(measured, METRICS[state.metric].estimate, MOST_ROWS);
    if (!cells.length || rows.length + cells.length > 2 * MOST_ROWS) continue;
    notes.push(note);
    rows.push({ heading: true, name: workloadName(workload) });
    rows.push(...cells.map((cell) => ({ ...contrastRow(cell, workload, state), workload })));
  }
  const judged = rows.filter((row) => !row.heading);
  figureTable(
    figure,
    ["workload", "cell", "against", "ratio", "interval", "verdict", "from"],
    judged.map((row) => [
      workloadName(row.workload),
      row.name,
      row.against,
      missing(row.at) ? row.figure : ratioText(row.at),
      row.interval ?? (missing(row.at) ? "" : "no interval"),
      row.verdict,
      row.source,
    ]),
  );
  const blank = judged.filter((row) => !missing(row.at) && !row.interval).length;
  if (blank) {
    notes.push(`Hollow marks (${blank}) have no interval in this document: nothing is known of them but the figure.`);
  }
  setNote(figure, notes);
  if (!judged.some((row) => !missing(row.at))) {
    panels.append(element("p", "There is nothing to compare here.", "empty"));
    return;
  }
  forestPlot(panels, rows, style);
}

function forestPlot(panels, rows, style) {
  const margin = run.analysis.margin;
  const values = rows.flatMap((row) => [row.at, row.lo, row.hi]).filter((value) => !missing(value));
  const space = margins(panels, rows.map((row) => (row.heading ? "" : row.name)), rows.map((row) => row.figure ?? ""));
  const axis = makeAxis([...values, 1 - margin, 1 + margin], { log: true, most: space.most });
  const band = {
    type: "custom",
    silent: true,
    data: [[0, 0]],
    renderItem: (parameters, api) => {
      const { y, height } = parameters.coordSys;
      const at = (value) => api.coord([axis.at(Math.max(value, axis.lowest)), 0])[0];
      const [from, one, to] = [at(1 - margin), at(1), at(1 + margin)];
      return {
        type: "group",
        children: [
          { type: "rect", shape: { x: from, y, width: to - from, height }, style: { fill: style.band } },
          { type: "line", shape: { x1: one, y1: y, x2: one, y2: y + height }, style: { stroke: style.quiet, lineWidth: 1 } },
        ],
      };
    },
  };
  drawPlot(
    panels,
    rows.length * 28 + 44,
    {
      grid: { left: space.left, right: space.right, top: 4, bottom: 30 },
      xAxis: chartAxis(axis, (value) => `${Number(value.toPrecision(3))} ×`, style),
      yAxis: rowAxis(rows.length),
      series: [band, rowTexts(rows, space, style), intervalSeries(rows, axis, style)],
    },
    `Ratios of costs to the baseline's, with intervals, the margin of ${percentText(margin)} as a band; the figures are below`,
  );
}
