// Axes: positions for values, and round values to label, linear or logarithmic.

const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]];

function logarithmicTicks(lowest, highest, most) {
  const first = Math.floor(Math.log10(lowest));
  const last = Math.ceil(Math.log10(highest));
  const within = (tick) => tick >= lowest * 0.9999 && tick <= highest * 1.0001;
  const decades = (stride, steps) => {
    const ticks = [];
    for (let power = first; power <= last; power += stride) ticks.push(...steps.map((step) => step * 10 ** power));
    return ticks.filter(within);
  };
  const stride = Math.max(1, Math.ceil((last - first) / most));
  let best = decades(stride, STEPS[0]);
  for (const steps of STEPS) {
    const ticks = decades(1, steps);
    if (ticks.length <= most && ticks.length > best.length) best = ticks;
  }
  return best.length >= 3 || highest / lowest > 10 ? best : linearTicks(lowest, highest, most).filter(within);
}

function linearTicks(lowest, highest, most) {
  const rough = (highest - lowest) / Math.max(1, most - 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.9999) * power;
  const first = Math.ceil(lowest / step - 1e-9);
  const ticks = [];
  for (let index = first; index * step <= highest * (1 + 1e-9); index += 1) {
    ticks.push(Number((index * step).toPrecision(12)));
  }
  return ticks;
}

// An axis over these values: `at` gives a value's position, `ticks` are values. A linear one begins at 0 unless
// `tight` is set; a logarithmic one shows positive values only.
function makeAxis(values, { log, most = 6, tight = false, room = 0.04 }) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!usable.length) usable.push(1);
  let lowest = usable.reduce((a, b) => Math.min(a, b));
  let highest = usable.reduce((a, b) => Math.max(a, b));
  if (log) {
    const spread = Math.max((highest / lowest) ** room, 1.06);
    [lowest, highest] = [lowest / spread, highest * spread];
    const at = (value) => Math.log10(value);
    return { log, at, lowest, highest, ticks: logarithmicTicks(lowest, highest, most) };
  }
  if (!tight) lowest = 0;
  const spread = (highest - lowest) * room || highest * room || 1;
  [lowest, highest] = [tight ? lowest - spread : 0, highest + spread];
  return { log, at: (value) => value, lowest, highest, ticks: linearTicks(lowest, highest, most) };
}

// The same as ECharts wants it; labels come from `format`.
function chartAxis(axis, format, style, extra = {}) {
  const positions = axis.ticks.map(axis.at);
  const texts = new Map(axis.ticks.map((tick) => [axis.at(tick), tick === 0 ? "0" : format(tick)]));
  const { axisLabel = {}, ...more } = extra;
  return {
    type: "value",
    min: axis.at(axis.lowest),
    max: axis.at(axis.highest),
    axisLine: { show: true, onZero: false, lineStyle: { color: style.rule } },
    axisTick: { show: false, customValues: positions },
    axisLabel: {
      customValues: positions,
      formatter: (position) => texts.get(position) ?? "",
      color: style.quiet,
      fontSize: 12,
      hideOverlap: true,
      ...axisLabel,
    },
    splitLine: { show: true, lineStyle: { color: style.faint } },
    ...more,
  };
}

// An axis of rows from top to bottom, without labels of its own.
function rowAxis(count) {
  return { type: "value", min: -0.5, max: count - 0.5, inverse: true, show: false };
}
