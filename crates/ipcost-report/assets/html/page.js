// What is chosen, and what then is drawn.

const MOST_CHOICES = 200;
const controls = document.getElementById("controls");
const workloadsOf = (pattern) => data.workloads.filter((workload) => workload.pattern === pattern);
const state = { pattern: controls.pattern?.value, chosen: null, workloads: [], metric: "wall", baseline: null, scale: "log", hidden: new Set(), cell: null };

const FIGURES = { cost: drawCost, size: drawSize, forest: drawForest, epochs: drawEpochs, latency: drawLatency, processor: drawProcessor };

const short = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

// Offers these, of which each is known by its place.
function offer(select, entries, chosen) {
  const option = ([value, name]) => Object.assign(element("option", short(name)), { value, selected: value === chosen });
  select.replaceChildren(...entries.map(option));
}

const numbered = (names) => names.map((name, index) => [String(index), name]);
let offered = { workloads: [], baselines: [], cells: [] };

// Choices follow from the pattern, then from the workload.
function offerChoices() {
  const workloads = workloadsOf(state.pattern);
  // All at once only where that can be read.
  const together = workloads.length > 1 && workloads.reduce((sum, one) => sum + one.cells.length, 0) <= MOST_ROWS;
  if (!workloads.includes(state.chosen)) state.chosen = together ? null : (workloads[0] ?? null);
  state.workloads = state.chosen ? [state.chosen] : workloads;
  const all = together ? [["", `all ${workloads.length}`]] : [];
  offer(controls.workload, [...all, ...numbered(workloads.map(({ name }) => name))], state.chosen ? String(workloads.indexOf(state.chosen)) : "");

  const labels = state.workloads.flatMap((workload) => workload.cells.map((id) => cells[id].label));
  const baselines = [...new Set(labels)].slice(0, MOST_CHOICES);
  if (!baselines.includes(state.baseline)) state.baseline = null;
  const baseline = state.baseline === null ? "" : String(baselines.indexOf(state.baseline));
  offer(controls.baseline, [["", "as in the run"], ...numbered(baselines)], baseline);

  const shown = state.workloads.flatMap((workload) => shownCells(workload, state).map((id) => ({ cell: cells[id], workload }))).slice(0, MOST_CHOICES);
  const known = shown.map(({ cell }) => cell);
  // Where there are two modes, there is something to see.
  if (!known.includes(state.cell)) state.cell = known.find((cell) => cell.modes) ?? known[0] ?? null;
  const names = shown.map(({ cell, workload }) => `${cell.label} · ${workload.name}${cell.modes ? " · two modes" : ""}`);
  offer(document.getElementById("cell"), numbered(names), String(known.indexOf(state.cell)));
  offered = { workloads, baselines, cells: known };
}

const figures = Object.fromEntries(Object.keys(FIGURES).map((name) => [name, document.getElementById(`figure-${name}`)]));

// Charts are drawn when they come near what is seen.
const near = new Set();
const stale = new Set(Object.keys(FIGURES));
const draw = (name) => stale.delete(name) && FIGURES[name](figures[name], state);
function redraw(names = near) {
  Object.keys(FIGURES).forEach((name) => stale.add(name));
  names.forEach(draw);
}
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const name = target.id.slice("figure-".length);
      near[isIntersecting ? "add" : "delete"](name);
      if (isIntersecting) draw(name);
    }
  },
  { rootMargin: "600px" },
);

// For paper, where the choices themselves do not show.
function tellChoice() {
  const { pattern, chosen, baseline, scale, hidden } = state;
  const what = chosen ? chosen.name : `pattern ${pattern}`;
  const against = baseline === null ? "baseline as in the run" : `baseline ${baseline}`;
  const off = transports.filter((_, index) => hidden.has(index)).map(({ name }) => name);
  const without = off.length ? `; without ${off.join(", ")}` : "";
  document.getElementById("shown").textContent = `Shown: ${what}, ${quantityOf(state).title}, ${against}, ${scale} scale${without}.`;
}

function listen() {
  const change = {
    pattern: (value) => Object.assign(state, { pattern: value, chosen: null, cell: null }),
    metric: (value) => (state.metric = value),
    scale: (value) => (state.scale = value),
    workload: (value) => (state.chosen = offered.workloads[value] ?? null),
    baseline: (value) => (state.baseline = offered.baselines[value] ?? null),
    transport: (value, checked) => state.hidden[checked ? "delete" : "add"](Number(value)),
  };
  controls.addEventListener("change", ({ target }) => {
    change[target.name](target.value, target.checked);
    offerChoices();
    redraw();
  });
  document.getElementById("cell").addEventListener("change", ({ target }) => {
    state.cell = offered.cells[target.value];
    drawEpochs(figures.epochs, state);
  });
  let drawnAt = null;
  new ResizeObserver(([{ contentRect: { width } }]) => {
    if (drawnAt !== null && width && width !== drawnAt) redraw();
    drawnAt = width || drawnAt;
  }).observe(document.getElementById("charts"));
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.getElementById("download").addEventListener("click", ({ currentTarget }) => {
    currentTarget.href = URL.createObjectURL(new Blob([originalText()], { type: "application/json" }));
  });
}

// The document's bytes: in the page, only "<" is written differently, so that no label can end the element.
function originalText() {
  const source = document.getElementById("document").textContent;
  return source.replace(/\\\\|\\u003c/g, (found) => (found === "\\\\" ? found : "<"));
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
    redraw(Object.keys(FIGURES));
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
offerChoices();
listen();
listenForPrinting();
makeSortable();
for (const figure of Object.values(figures)) watcher.observe(figure);

// For a closer look, in the browser's console.
window.ipcost = { figures: data, originalText };
