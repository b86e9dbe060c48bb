// What is chosen, and what then is drawn.

const MOST_CHOICES = 200;
const controls = document.getElementById("controls");
const state = {
  pattern: startingPattern(),
  chosenWorkload: null,
  workloads: [],
  metric: "wall",
  baseline: null,
  scale: "log",
  hidden: new Set(),
  cell: null,
};
// The pattern of which most is known; floors are what others are seen against.
function startingPattern() {
  const count = (pattern) => (pattern === "floor" ? 0 : run.workloads.filter((workload) => workload.pattern === pattern).length);
  return patterns.reduce((best, pattern) => (best === null || count(pattern) > count(best) ? pattern : best), null);
}

const FIGURES = [
  ["cost", drawCost],
  ["size", drawSize],
  ["forest", drawForest],
  ["epochs", drawEpochs],
  ["latency", drawLatency],
  ["processor", drawProcessor],
];

function workloadsOf(pattern) {
  return run.workloads.filter((workload) => workload.pattern === pattern);
}

function options(select, entries, chosen) {
  select.replaceChildren(
    ...entries.map(([value, name]) => {
      const option = element("option", shorten(name, 80));
      option.value = value;
      option.selected = value === chosen;
      return option;
    }),
  );
}

// Choices follow from the pattern, then from the workload.
function offerWorkloads() {
  const all = workloadsOf(state.pattern);
  const cells = all.reduce((sum, workload) => sum + workload.cells.length, 0);
  // All at once only where that can be read.
  const together = all.length > 1 && cells <= MOST_ROWS;
  if (!together && !all.includes(state.chosenWorkload)) state.chosenWorkload = all[0] ?? null;
  if (!all.includes(state.chosenWorkload)) state.chosenWorkload = null;
  const entries = all.map((workload) => [String(run.workloads.indexOf(workload)), workloadName(workload)]);
  if (together) entries.unshift(["", `all ${all.length}`]);
  options(controls.workload, entries, state.chosenWorkload ? String(run.workloads.indexOf(state.chosenWorkload)) : "");
  state.workloads = state.chosenWorkload ? [state.chosenWorkload] : all;
  offerBaselines();
  offerCells();
}

let offeredBaselines = [];
let offeredCells = [];

function offerBaselines() {
  const measured = state.workloads.flatMap((workload) => measuredCells(workload, { hidden: new Set() }));
  offeredBaselines = [...new Set(measured.map((cell) => cell.label))].slice(0, MOST_CHOICES);
  if (state.baseline !== null && !offeredBaselines.includes(state.baseline)) state.baseline = null;
  const entries = offeredBaselines.map((label, index) => [String(index), visible(label)]);
  options(controls.baseline, [["", "as in the run"], ...entries], state.baseline === null ? "" : String(offeredBaselines.indexOf(state.baseline)));
}

function offerCells() {
  const measured = state.workloads.flatMap((workload) => measuredCells(workload, state));
  offeredCells = measured.slice(0, MOST_CHOICES);
  // Where there are two modes, there is something to see.
  if (!offeredCells.includes(state.cell)) state.cell = offeredCells.find((cell) => cell.modes?.length) ?? offeredCells[0] ?? null;
  const entries = offeredCells.map((cell, index) => {
    const workload = state.workloads.find((one) => one.cells.includes(cell.id));
    return [String(index), `${labelOf(cell)} · ${workloadName(workload)}${cell.modes?.length ? " · two modes" : ""}`];
  });
  options(document.getElementById("cell"), entries, String(offeredCells.indexOf(state.cell)));
}

function radios(name, entries, chosen) {
  const group = document.getElementById(`choose-${name}`);
  for (const [value, title] of entries) {
    const label = element("label");
    const input = element("input");
    Object.assign(input, { type: "radio", name, value, checked: value === chosen });
    label.append(input, element("span", title));
    group.append(label);
  }
}

function offerTransports() {
  const group = document.getElementById("choose-transports");
  transports.forEach((name, index) => {
    const label = element("label", undefined, "chip");
    const input = element("input");
    Object.assign(input, { type: "checkbox", name: "transport", value: String(index), checked: true });
    label.append(input, markPicture(name), element("span", visible(name)));
    group.append(label);
  });
}

const figures = new Map(FIGURES.map(([name]) => [name, document.getElementById(`figure-${name}`)]));

// Charts are drawn when they come near what is seen.
const drawnFor = new Map();
let version = 0;
const draw = (name) => {
  if (drawnFor.get(name) === version) return;
  drawnFor.set(name, version);
  FIGURES.find(([known]) => known === name)[1](figures.get(name), state);
};
const near = new Set();
const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const name = entry.target.id.slice("figure-".length);
      if (entry.isIntersecting) near.add(name);
      else near.delete(name);
      if (entry.isIntersecting) draw(name);
    }
  },
  { rootMargin: "600px" },
);

// For paper, where the choices themselves do not show.
function tellChoice() {
  const { pattern, chosenWorkload, metric, baseline, scale } = state;
  const what = chosenWorkload ? workloadName(chosenWorkload) : `pattern ${pattern}`;
  const against = baseline === null ? "baseline as in the run" : `baseline ${visible(baseline)}`;
  const off = transports.filter((name) => state.hidden.has(name)).map(visible);
  const without = off.length ? `; without ${off.join(", ")}` : "";
  document.getElementById("shown").textContent = `Shown: ${what}, ${METRICS[metric].title}, ${against}, ${scale} scale${without}.`;
}

function redraw() {
  version += 1;
  near.forEach(draw);
}

function drawAll() {
  version += 1;
  FIGURES.forEach(([name]) => draw(name));
}

function listen() {
  controls.addEventListener("change", ({ target }) => {
    if (target.name === "pattern") [state.pattern, state.chosenWorkload, state.cell] = [target.value, null, null];
    if (target.name === "metric") state.metric = target.value;
    if (target.name === "scale") state.scale = target.value;
    if (target.name === "workload") state.chosenWorkload = target.value === "" ? null : run.workloads[Number(target.value)];
    if (target.name === "baseline") state.baseline = target.value === "" ? null : offeredBaselines[Number(target.value)];
    if (target.name === "transport") {
      const name = transports[Number(target.value)];
      if (target.checked) state.hidden.delete(name);
      else state.hidden.add(name);
    }
    offerWorkloads();
    redraw();
  });
  document.getElementById("cell").addEventListener("change", ({ target }) => {
    state.cell = offeredCells[Number(target.value)];
    drawEpochs(figures.get("epochs"), state);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) redraw();
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
  document.getElementById("download").addEventListener("click", ({ currentTarget }) => {
    currentTarget.href = URL.createObjectURL(new Blob([originalText()], { type: "application/json" }));
  });
}

// On paper: light, as wide as a page, every chart drawn, everything unfolded that is text.
function listenForPrinting() {
  let before = null;
  addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details.rest:not([open])")];
    before = { theme: root.dataset.theme, folded };
    folded.forEach((one) => (one.open = true));
    root.dataset.theme = "light";
    root.classList.add("paper");
    tellChoice();
    drawAll();
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    before.folded.forEach((one) => (one.open = false));
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    root.classList.remove("paper");
    redraw();
  });
}

root.classList.add("alive");
radios("pattern", patterns.map((name) => [name, name]), state.pattern);
radios("metric", Object.entries(METRICS).map(([name, { short }]) => [name, short]), state.metric);
radios("scale", [["linear", "linear"], ["log", "logarithmic"]], state.scale);
offerTransports();
offerWorkloads();
listen();
listenForPrinting();
makeSortable();
for (const figure of figures.values()) watcher.observe(figure);

// For who wants to look closer, in the browser's console.
window.ipcost = { run, originalText, compare, numbers: { time, ratioText, ratioInterval, sizeText, threeDigits } };
