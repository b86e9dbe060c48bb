
(function () {
  "use strict";
  var margin = 12, character = 7.32;
  var frames = Array.prototype.map.call(document.querySelectorAll("g.frame"), function (group) {
    var box = group.querySelector("rect"), value = function (name) { return Number(box.getAttribute(name)); };
    return { group: group, box: box, text: group.querySelector("text"), name: group.getAttribute("data-name"),
      x: value("x"), y: value("y"), width: value("width") };
  });
  var all = frames[0].width;
  function fitted(name, room) {
    var most = Math.floor(room / character);
    return name.length > most ? (3 > most ? "" : name.slice(0, most - 1) + "…") : name;
  }
  function show(frame, zoomed) {
    var factor = all / zoomed.width, outer = frame.y >= zoomed.y;
    var begin = margin + (frame.x - zoomed.x) * factor, end = begin + frame.width * factor;
    var inside = end > margin + 0.05 ? margin + all - 0.05 > begin : false;
    frame.group.style.display = inside ? "" : "none";
    if (outer) { begin = margin; end = margin + all; }
    frame.box.setAttribute("x", begin);
    frame.box.setAttribute("width", Math.max(end - begin, 0));
    frame.text.setAttribute("x", begin + 4);
    frame.text.textContent = fitted(frame.name, end - begin - 8);
  }
  frames.forEach(function (zoomed) {
    zoomed.group.style.cursor = "pointer";
    zoomed.group.addEventListener("click", function () {
      frames.forEach(function (frame) { show(frame, zoomed); });
    });
  });
})();
