// Tables sort by any column: upwards, downwards, and back to the order of the document.

function sortTable(table, header) {
  const headers = [...table.tHead.rows[0].cells];
  const column = headers.indexOf(header);
  const next = { none: "ascending", ascending: "descending", descending: "none" }[header.getAttribute("aria-sort") ?? "none"];
  for (const other of headers) other.removeAttribute("aria-sort");
  if (next !== "none") header.setAttribute("aria-sort", next);
  // A cell and its modes are one group and stay together.
  const groups = [...table.tBodies];
  groups.forEach((group, index) => (group.dataset.order ??= index));
  const turn = next === "descending" ? -1 : 1;
  const key = (group) => {
    const cell = group.rows[0].cells[column];
    const value = cell?.dataset.value;
    return value === undefined ? null : cell.dataset.words === undefined ? Number(value) : value;
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

function makeSortable() {
  for (const table of document.querySelectorAll("table.cells")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = element("button", header.textContent);
      button.type = "button";
      button.title = "Sort by this column";
      button.addEventListener("click", () => sortTable(table, header));
      header.replaceChildren(button);
    }
  }
}
