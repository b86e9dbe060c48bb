// Two cells compared, as far as the document compares them; nothing is inferred here.

const contrastsByCell = new Map();
const contrastsByPair = new Map();
const pairKey = (metric, a, b) => JSON.stringify([metric, a, b]);
for (const contrast of run.contrasts) {
  const key = pairKey(contrast.metric, contrast.a, "");
  // The first is the one that tables show.
  if (!contrastsByCell.has(key)) contrastsByCell.set(key, contrast);
  contrastsByPair.set(pairKey(contrast.metric, contrast.a, contrast.b), contrast);
}
for (const { fastest } of run.workloads) {
  if (!fastest) continue;
  const { ratio, lo, hi, verdict, cell, runner_up } = fastest;
  const key = pairKey("wall", runner_up, cell);
  if (!contrastsByPair.has(key)) contrastsByPair.set(key, { ratio, lo, hi, verdict });
}

const inverse = (value) => (missing(value) || value === 0 ? null : 1 / value);

// The ratio of two cells' costs: {ratio, lo, hi, verdict, source}, or null where there is no figure at all.
// `source` is "contrast" (the document's own), "inverse" (the document's own, read the other way round) or
// "medians" (a quotient of two figures, about which the document knows no interval).
function compare(metric, cell, other) {
  const own = contrastsByPair.get(pairKey(metric, cell.id, other.id));
  if (own) return { ratio: own.ratio, lo: own.lo, hi: own.hi, verdict: own.verdict, source: "contrast" };
  const turned = contrastsByPair.get(pairKey(metric, other.id, cell.id));
  if (turned) {
    const { ratio, lo, hi, verdict } = turned;
    return { ratio: 1 / ratio, lo: inverse(hi), hi: inverse(lo), verdict, source: "inverse" };
  }
  const [above, below] = [cell, other].map((one) => METRICS[metric].estimate(one)?.median);
  if (!above || !below) return null;
  return { ratio: above / below, ...NO_INTERVAL, verdict: null, source: "medians" };
}

// What a cell is compared with: what the run compared it with, or the cell of the chosen label.
function baselineFor(cell, workload, chosen) {
  if (chosen !== null) {
    return workload.cells.map((id) => cellsById.get(id)).find((other) => other.label === chosen) ?? null;
  }
  const contrast = contrastsByCell.get(pairKey("wall", cell.id, ""));
  const id = contrast && cell.id !== workload.baseline ? contrast.b : workload.baseline;
  return cellsById.get(id) ?? null;
}

function comparisonSource(found) {
  if (found.source === "medians") return "no interval: the quotient of two figures, which the run did not compare";
  if (found.source === "inverse") return "the run's contrast, read the other way round";
  return missing(found.lo) || missing(found.hi) ? "no interval yet: too few epochs" : "the run's contrast";
}

// A verdict in a reader's words, as tables write it.
function verdictText({ verdict, ratio }) {
  const side = ratio < 1 ? "cheaper" : "dearer";
  const texts = {
    different: side,
    direction: `${side}, amount open`,
    equivalent: `same (±${percentText(run.analysis.margin)})`,
    undecided: "open",
  };
  return texts[verdict] ?? "";
}

// -1 where a cell is known to be cheaper than the other, 1 where dearer, 0 where that is not known.
function knownDirection(found) {
  const known = found && (found.verdict === "different" || found.verdict === "direction");
  return known ? Math.sign(found.ratio - 1) : 0;
}
