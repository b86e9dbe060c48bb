// Tables sort by any column: upwards, downwards, and back to the order of the document.

// Above the titles there may be a line that says where each side was measured.
const titlesOf = (table) => [...table.tHead.rows].at(-1).cells;

function sortTable(table, header) {
  const headers = [...titlesOf(table)];
  const column = headers.indexOf(header);
  const next = { none: "ascending", ascending: "descending", descending: "none" }[header.getAttribute("aria-sort") ?? "none"];
  for (const other of headers) other.removeAttribute("aria-sort");
  if (next !== "none") header.setAttribute("aria-sort", next);
  // A cell and its modes are one group and stay together.
  const groups = [...table.tBodies];
  groups.forEach((group, index) => (group.dataset.order ??= index));
  const turn = next === "descending" ? -1 : 1;
  const key = (group) => {
    const { value, words } = fieldAt(group.rows[0], column)?.dataset ?? {};
    return value === undefined ? null : words === undefined ? Number(value) : value;
  };
  const order = (a, b) => Number(a.dataset.order) - Number(b.dataset.order);
  const keys = new Map(groups.map((group) => [group, key(group)]));
  const byKey = (a, b) => {
    const [first, second] = [keys.get(a), keys.get(b)];
    // What has no figure comes last, whichever way.
    if (first === null || second === null) return Number(first === null) - Number(second === null) || order(a, b);
    const compared = typeof first === "string" ? first.localeCompare(second) : first - second;
    return compared * turn || order(a, b);
  };
  table.append(...groups.sort(next === "none" ? order : byKey));
}

// The field of a column; one that spans several belongs to all of them.
function fieldAt(row, column) {
  let next = 0;
  return [...row.cells].find((cell) => (next += cell.colSpan) > column);
}

function makeSortable() {
  for (const table of document.querySelectorAll("table.cells")) {
    for (const header of titlesOf(table)) {
      const button = element("button", header.textContent);
      button.type = "button";
      button.title = "Sort by this column";
      button.addEventListener("click", () => sortTable(table, header));
      header.replaceChildren(button);
    }
  }
}
