// The one document, as it stands in the page, and ways to look things up in it.

const source = document.getElementById("document").textContent;
const run = JSON.parse(source);

// The document's bytes: in the page, only "<" is written differently, so that no label can end the element.
const originalText = () => source.replace(/\\\\|\\u003c/g, (found) => (found === "\\\\" ? found : "<"));

const cellsById = new Map(run.cells.map((cell) => [cell.id, cell]));
const cellIndex = new Map(run.cells.map((cell, index) => [cell.id, index]));
const transports = [...new Set(run.cells.map((cell) => cell.transport))];
const patterns = [...new Set(run.workloads.map((workload) => workload.pattern))];

// Text from outside, without anything that would be obeyed rather than shown.
const visible = (text) =>
  String(text).replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) => {
    const short = { "\t": "\\t", "\n": "\\n", "\r": "\\r" }[c];
    return short ?? `\\u{${c.charCodeAt(0).toString(16)}}`;
  });

const labelOf = (cell) => visible(cell.label);
const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const NO_INTERVAL = { lo: null, hi: null };

// What a cell can be judged by; an estimate is {median, lo, hi} in nanoseconds, or null.
const METRICS = {
  wall: {
    title: "cost (elapsed time per operation)",
    short: "cost",
    estimate: (cell) => cell.wall_ns_per_op ?? null,
  },
  cpu: {
    title: "CPU time per operation, both processes",
    short: "CPU/op",
    estimate: (cell) => cell.cpu_ns_per_op ?? null,
  },
  p99: {
    title: "99th percentile of latency",
    short: "p99",
    estimate: (cell) => (cell.latency_ns ? { median: cell.latency_ns.p99, ...NO_INTERVAL } : null),
    note: "The 99th percentile is one summary of all sampled operations; the document holds no interval for it.",
  },
};

const workloadName = (workload) => document.getElementById(`workload-${run.workloads.indexOf(workload)}`).dataset.name;

// The cells of a workload that were measured and whose transport is not switched off.
function measuredCells(workload, state) {
  const cells = workload.cells.map((id) => cellsById.get(id));
  return cells.filter((cell) => cell.available && cell.epochs > 0 && !state.hidden.has(cell.transport));
}

let samplesByCell = null;

// The timed batches of a cell, in the order in which they were measured.
function samplesOf(cell) {
  if (!samplesByCell) {
    samplesByCell = new Map();
    for (const sample of run.samples) {
      const list = samplesByCell.get(sample.cell);
      if (list) list.push(sample);
      else samplesByCell.set(sample.cell, [sample]);
    }
  }
  return samplesByCell.get(cellIndex.get(cell.id)) ?? [];
}
