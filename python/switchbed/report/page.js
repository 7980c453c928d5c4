// What moves in a report: charts by line and by choice, the time slider, tables that sort.
"use strict";

// Charts are as light or dark as the page: their black is its ink, their white its paper.
const scheme = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
const INK = { "#000000": "ink", "#fff": "paper", "#e4e4e4": "line", "#bbb": "edge" };
const themed = (text) => (scheme.matches ? text.replace(/"(#000000|#fff|#e4e4e4|#bbb)"/g, (_, c) => `"${colour(INK[c])}"`) : text);
scheme.addEventListener("change", () => location.reload());
const charts = JSON.parse(themed(document.getElementById("charts").textContent));
const switches = [...document.querySelectorAll("#lines input")];
// A finger scrolls the page; what a drag does there is chosen from the bar, which is always seen.
const finger = matchMedia("(pointer: coarse)").matches;
const config = {
  responsive: true,
  displaylogo: false,
  displayModeBar: finger || "hover",
  showSendToCloud: false, // nothing leaves the page
  modeBarButtonsToRemove: ["select2d", "lasso2d"],
};
const slider = document.querySelector(".slider input");

const shown = () => new Set(switches.filter((s) => s.checked).map((s) => s.value));
const choices = (name) => [...document.querySelectorAll(`#about-${name} select`)];

function isChosen(trace, name) {
  return choices(name).every((select) => (trace.meta.view[select.dataset.key] ?? select.value) === select.value);
}

// A chart's traces that are to be seen now. Of no line: always.
function update({ name, traces }) {
  const lines = shown();
  const isShown = ({ meta }) => meta.line === null || lines.has(meta.line);
  const visible = traces.map((trace) => isShown(trace) && isChosen(trace, name));
  Plotly.restyle(name, { visible });
  const titles = traces.find((_, i) => visible[i])?.meta.titles;
  if (titles) Plotly.relayout(name, { "xaxis.title.text": titles[0], "yaxis.title.text": titles[1] });
  if (name !== "comparison") return;
  // Intervals of few seeds reach far: the estimates decide what is seen, as in plots.
  const top = Math.max(...traces.filter((_, i) => visible[i]).flatMap(({ y }) => y));
  Plotly.relayout(name, { "yaxis.range": [0, top > 0 ? 1.25 * top : 1] });
}

// The chosen trace that has most times: the slider's places are its.
function longest() {
  const found = charts.find(({ name }) => name === "instant").traces.filter((t) => isChosen(t, "instant"));
  return found.reduce((a, b) => (b.meta.times_ms.length > a.meta.times_ms.length ? b : a)).meta;
}

// Bars and thresholds at the slider's time, and a line at it in the chart over time.
function seek() {
  const { traces } = charts.find(({ name }) => name === "instant");
  const all = longest().times_ms;
  slider.max = all.length - 1;
  const now = all[Math.min(slider.value, all.length - 1)];
  slider.nextElementSibling.textContent = `${now} ms`;
  const values = traces.map(({ meta }) => {
    const at = meta.times_ms.findLastIndex((t) => t <= now);
    return meta.values.map((series) => (at < 0 ? 0 : series[at]));
  });
  const y = traces.map(({ base, y }, i) => (base ? y : values[i]));
  const base = traces.map(({ base }, i) => (base ? values[i] : null));
  Plotly.restyle("instant", { y, base });
  const line = { type: "line", x0: now, x1: now, y0: 0, y1: 1, yref: "paper", line: { width: 1, dash: "dot" } };
  Plotly.relayout("queues", { shapes: [line] });
}

function sort(header) {
  const table = header.closest("table");
  const column = header.cellIndex;
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => row.cells[column].dataset.key;
  const isNumber = (row) => row.cells[column].className === "number";
  const value = (row) => (key(row) === "inf" ? Infinity : Number(key(row)));
  const compare = (a, b) => {
    if (!isNumber(a) || !isNumber(b)) return key(a).localeCompare(key(b), "en", { numeric: true });
    return value(a) < value(b) ? -1 : Number(value(a) > value(b));
  };
  const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
  table.tBodies[0].append(...rows);
}

for (const chart of charts) {
  Plotly.newPlot(chart.name, chart.traces, { ...chart.layout, font: { ...chart.layout.font, color: colour("ink") }, dragmode: finger ? false : "zoom" }, config);
  update(chart);
  for (const select of choices(chart.name)) {
    select.addEventListener("change", () => {
      update(chart);
      // What was zoomed into is not where other data are.
      Plotly.relayout(chart.name, { "xaxis.autorange": true });
      if (["queues", "goodput"].includes(chart.name)) Plotly.relayout(chart.name, { "yaxis.autorange": true });
      if (chart.name === "instant") seek();
    });
  }
}
function choose() {
  charts.forEach(update);
  const lines = shown();
  for (const row of document.querySelectorAll("tr[data-line]")) row.hidden = !lines.has(row.dataset.line);
}
for (const one of switches) one.addEventListener("change", choose);
for (const button of document.querySelectorAll("#lines button")) {
  button.addEventListener("click", () => {
    for (const one of switches) one.checked = Boolean(button.dataset.all);
    choose();
  });
}
if (slider) {
  slider.addEventListener("input", seek);
  const { times_ms, values } = longest();
  const total = times_ms.map((_, i) => values.reduce((sum, series) => sum + series[i], 0));
  slider.max = times_ms.length - 1;
  slider.value = total.indexOf(Math.max(...total)); // elsewhere queues may be empty
  seek();
}
for (const header of document.querySelectorAll("th")) {
  header.firstChild.addEventListener("click", () => sort(header));
}
