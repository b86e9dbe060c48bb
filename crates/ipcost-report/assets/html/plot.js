// A chart in its place: drawing, what hovering shows, and the same figures as a table for who cannot hover.

const plots = new Set();

function disposePlots(container) {
  for (const plot of plots) {
    if (container.contains(plot.getDom())) {
      plot.dispose();
      plots.delete(plot);
    }
  }
  container.replaceChildren();
}

const element = (name, text, className) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};

// What hovering shows; text only, since labels come from outside.
function tip(lines) {
  const box = element("div", undefined, "tip");
  lines.forEach((line, index) => box.append(element(index ? "div" : "strong", line)));
  return box;
}

function drawPlot(container, height, option, description) {
  const place = element("div", undefined, "plot");
  place.style.height = `${height}px`;
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", description);
  container.append(place);
  const style = pageStyle();
  const plot = echarts.init(place, null, { renderer: "svg" });
  plots.add(plot);
  plot.setOption({
    animation: false,
    textStyle: { fontFamily: style.font, color: style.ink },
    tooltip: {
      trigger: "item",
      confine: true,
      transitionDuration: 0,
      backgroundColor: style.paper,
      borderColor: style.rule,
      textStyle: { color: style.ink, fontSize: 13 },
      formatter: (shown) => tip(shown.data?.tip ?? []),
    },
    ...option,
  });
  return plot;
}

// Names at the left of rows, their figures at the right; both in pixels.
function margins(container, names, figures) {
  const width = container.clientWidth || 700;
  const longest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 0);
  const left = Math.min(longest(names) * 7 + 16, Math.max(90, width * 0.32));
  const right = width < 480 || !figures ? 16 : Math.min(longest(figures) * 6.8 + 16, width * 0.34);
  const most = Math.max(3, Math.floor((width - left - right) / 75));
  return { width, left, right, most, named: Math.floor((left - 12) / 6.6), figured: right > 16 };
}

const textFont = getComputedStyle(document.body).fontFamily;
const text = (content, x, y, style) => ({
  type: "text",
  silent: true,
  style: { text: content, x, y, fontSize: 12.5, fontFamily: textFont, textVerticalAlign: "middle", ...style },
});

// Names at the left of rows and figures at their right, as a series, since rows have no axis of their own.
function rowTexts(rows, space, style) {
  return {
    type: "custom",
    silent: true,
    clip: false,
    data: rows.map((row, index) => [0, index]),
    renderItem: (parameters, api) => {
      const row = rows[parameters.dataIndex];
      const { x, width } = parameters.coordSys;
      const y = api.coord([0, parameters.dataIndex])[1];
      const children = [];
      const name = shorten(row.name, space.named);
      const fill = row.heading ? style.ink : row.faded ? style.quiet : style.ink;
      const fontWeight = row.heading ? 600 : 400;
      if (row.heading) children.push(text(row.name, 2, y, { fill, fontWeight }));
      else children.push(text(name, x - 10, y, { fill, textAlign: "right", fontWeight }));
      if (space.figured && row.figure) children.push(text(row.figure, x + width + 10, y, { fill: style.quiet }));
      return { type: "group", children };
    },
  };
}

// Points with their intervals, a row each: {at, lo, hi, transport, tip, marks: [values]}. Where a bound is unknown, the
// line is dashed to the edge; where both are, the point is hollow and there is no line.
function intervalSeries(rows, axis, style) {
  const data = rows.flatMap((row, index) =>
    row.heading || missing(row.at) ? [] : [{ value: [axis.at(row.at), index], row, tip: row.tip }],
  );
  return {
    type: "custom",
    data,
    renderItem: (parameters, api) => {
      const { row, value } = data[parameters.dataIndex];
      const { x: left, width } = parameters.coordSys;
      const inside = (x) => Math.min(Math.max(x, left), left + width);
      const place = (one) => inside(api.coord([axis.log && one <= 0 ? axis.at(axis.lowest) : axis.at(one), value[1]])[0]);
      const [x, y] = api.coord(value);
      const stroke = transportColour(style, row.transport);
      const children = [
        // A wide, unseen target for fingers and mice.
        { type: "rect", shape: { x: left, y: y - 11, width, height: 22 }, style: { fill: "transparent" } },
      ];
      const line = (from, to, dashed) =>
        children.push({
          type: "line",
          shape: { x1: from, y1: y, x2: to, y2: y },
          style: { stroke, lineWidth: 2.2, lineDash: dashed ? [3, 4] : null },
        });
      const cap = (at) =>
        children.push({ type: "line", shape: { x1: at, y1: y - 5, x2: at, y2: y + 5 }, style: { stroke, lineWidth: 2.2 } });
      const open = missing(row.lo) && missing(row.hi);
      if (!missing(row.floor)) {
        const at = place(row.floor);
        // As tall as a row, so that one line goes through all rows of one floor.
        const half = (api.coord([0, 1])[1] - api.coord([0, 0])[1]) / 2;
        children.push({
          type: "line",
          shape: { x1: at, y1: y - half, x2: at, y2: y + half },
          style: { stroke: style.ink, lineWidth: 1.4, lineDash: [5, 3] },
        });
      }
      if (!open) {
        line(missing(row.lo) ? left : place(row.lo), x, missing(row.lo));
        line(x, missing(row.hi) ? left + width : place(row.hi), missing(row.hi));
        if (!missing(row.lo)) cap(place(row.lo));
        if (!missing(row.hi)) cap(place(row.hi));
      }
      for (const one of row.marks ?? []) children.push(mark("circle", place(one), y, 3, stroke, { hollow: true, paper: style.paper }));
      children.push(mark(markOf(row.transport), x, y, 5, stroke, { hollow: open, paper: style.paper }));
      return { type: "group", children };
    },
  };
}

// Keeps a figure's table of numbers: the same rows as are drawn.
function figureTable(figure, titles, rows) {
  const table = element("table");
  const head = element("thead");
  head.append(element("tr"));
  head.firstChild.append(...titles.map((title) => element("th", title)));
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    line.append(...row.map((value) => element("td", value ?? "")));
    body.append(line);
  }
  table.append(head, body);
  figure.querySelector(".figures").replaceChildren(table);
  figure.querySelector("details").hidden = rows.length === 0;
}

const setNote = (figure, notes) => {
  figure.querySelector(".note").textContent = notes.filter(Boolean).join(" ");
};
