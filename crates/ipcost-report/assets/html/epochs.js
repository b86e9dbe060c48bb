// Every timed batch of one cell, epoch by epoch: what a median does not show.

const MOST_POINTS = 4000;

const BATCH_COST = {
  wall: (sample) => sample.wall_ns / sample.ops,
  cpu: (sample) => (sample.client.user_ns + sample.client.sys_ns + sample.server.user_ns + sample.server.sys_ns) / sample.ops,
};

function drawEpochs(figure, state) {
  const panels = figure.querySelector(".panels");
  disposePlots(panels);
  const cell = state.cell;
  const metric = state.metric === "p99" ? "wall" : state.metric;
  const notes = [state.metric === "p99" ? "A batch has no percentile of its own; its elapsed time per operation is shown." : null];
  const every = cell ? samplesOf(cell) : [];
  const stride = Math.ceil(every.length / MOST_POINTS) || 1;
  const samples = every.filter((_, index) => index % stride === 0);
  if (stride > 1) notes.push(`Drawn is one of every ${stride} batches.`);
  const costs = samples.map(BATCH_COST[metric]);
  figureTable(
    figure,
    ["epoch", "round", "position", "operations", METRICS[metric].short],
    samples.map((sample, index) => [sample.epoch, sample.round, sample.position, sample.ops, time(costs[index])].map(String)),
  );
  const modes = metric === "wall" ? (cell?.modes ?? []) : [];
  if (modes.length) notes.push(`Dotted: two groups of epochs, ${modes.map((mode) => `${percentText(Number(mode.share.toFixed(2)))} at ${time(mode.wall_ns_per_op)}`).join(" and ")}.`);
  if (cell && METRICS[metric].estimate(cell)) notes.push("Solid: the median over epochs; shaded: its interval, where it has one.");
  setNote(figure, notes);
  if (!samples.length) {
    panels.append(element("p", "The document holds no batches of this cell.", "empty"));
    return;
  }
  epochPlot(panels, cell, samples, costs, modes, { ...state, metric });
}

function epochPlot(panels, cell, samples, costs, modes, state) {
  const style = pageStyle();
  const estimate = METRICS[state.metric].estimate(cell);
  const width = panels.clientWidth || 700;
  const levels = [estimate?.median, estimate?.lo, estimate?.hi].filter((value) => !missing(value));
  const log = state.scale === "log";
  const y = makeAxis([...costs, ...levels, ...modes.map((mode) => mode.wall_ns_per_op)], { log, most: 7 });
  const epochs = samples.map((sample) => sample.epoch);
  const x = makeAxis(epochs, { log: false, tight: true, most: Math.max(3, Math.floor(width / 80)) });
  x.ticks = x.ticks.filter((epoch) => Number.isInteger(epoch) && epoch >= 1);
  const stroke = transportColour(style, cell.transport);
  const data = samples.flatMap((sample, index) =>
    log && costs[index] <= 0
      ? []
      : [{ value: [x.at(sample.epoch), y.at(costs[index])], tip: [labelOf(cell), `epoch ${sample.epoch}, round ${sample.round}`, time(costs[index]), `${sample.ops} operations`] }],
  );
  const points = {
    type: "custom",
    data,
    z: 3,
    renderItem: (parameters, api) => {
      const [px, py] = api.coord(data[parameters.dataIndex].value);
      return mark(markOf(cell.transport), px, py, 3.6, stroke);
    },
  };
  drawPlot(
    panels,
    300,
    {
      grid: { left: 76, right: 20, top: 12, bottom: 44 },
      xAxis: chartAxis(x, (epoch) => `epoch ${epoch}`, style, { splitLine: { show: false } }),
      yAxis: chartAxis(y, time, style),
      series: [levelSeries(estimate, modes, y, style), points],
    },
    `Every batch of ${labelOf(cell)}, by epoch; the figures are below`,
  );
}

// The median, its interval, and the two modes, as lines and a band across.
function levelSeries(estimate, modes, axis, style) {
  return {
    type: "custom",
    silent: true,
    data: [[0, 0]],
    z: 1,
    renderItem: (parameters, api) => {
      const { x, width } = parameters.coordSys;
      const at = (value) => api.coord([0, axis.at(axis.log ? Math.max(value, axis.lowest) : value)])[1];
      const children = [];
      const across = (value, more) =>
        children.push({ type: "line", shape: { x1: x, y1: at(value), x2: x + width, y2: at(value) }, style: { stroke: style.quiet, lineWidth: 1.4, ...more } });
      if (estimate && !missing(estimate.lo) && !missing(estimate.hi)) {
        const top = at(estimate.hi);
        children.push({ type: "rect", shape: { x, y: top, width, height: at(estimate.lo) - top }, style: { fill: style.band } });
      }
      if (estimate) across(estimate.median, {});
      for (const mode of modes) across(mode.wall_ns_per_op, { lineDash: [2, 4] });
      return { type: "group", children };
    },
  };
}
