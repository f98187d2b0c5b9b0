"use strict";
// Draws the tables of the page as a picture from the results in it, and those of another file beside them.
(() => {
const BINS = 120;
const NOTHING = "–";
const byId = id => document.getElementById(id);
// The file with each row's figures as members of the row; those that have no range are numbers.
const flat = data => ({...data, rows: data.rows.map(row => {
  const figures = row.figures, plain = name => figures[name]?.estimate;
  return {...row, ...figures, max_ns: plain("max_ns"), deadlines: plain("deadlines"),
    run_delay_percent: plain("run_delay_percent"), problem: row.problem ?? row.failure,
    isBase: row.base == null && row.lateness.length > 0};
})});
const first = flat(JSON.parse(byId("data").textContent));
let other;

// An element with these children in place of others. What is absent is left out, so that no caller needs a condition.
const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.replaceChildren(...children.flat(Infinity).filter(child => child != null && child !== false && child !== ""));
  return element;
};
const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Figures have the digits that they have on the screen. A figure is on one line with its unit.
const fixed = (number, places) => {
  const size = 10 ** places, rounded = Math.round(Math.abs(number) * size) / size;
  return (number < 0 && rounded !== 0 ? "−" : "") + rounded.toFixed(places);
};
const digits = number => {
  const size = Math.abs(number);
  return fixed(number, size >= 9.95 ? 0 : size >= 0.995 || size === 0 ? 1 : 2);
};
const unitOf = ns => [["s", 1e9], ["ms", 1e6]].find(([, size]) => Math.abs(ns) >= 0.995 * size) ?? ["µs", 1e3];
const time = (ns, write = digits) => ns == null ? NOTHING : `${write(ns / unitOf(ns)[1])}\u00a0${unitOf(ns)[0]}`;
const setting = ns => time(ns, number => String(Number(number.toPrecision(4))));
const percent = number => number == null ? NOTHING : `${fixed(number, 1)}\u00a0%`;

// A figure as its estimate and its range. The range of a time is in the unit of the estimate.
const ranged = (figure, write, part, unknown) => figure == null ? [NOTHING]
  : [write(figure.estimate), figure.low == null ? unknown : `(${part(figure.low)}–${part(figure.high)})`];
const rangedTime = figure => ranged(figure, time, ns => digits(ns / unitOf(figure.estimate)[1]), "(?)");
const drift = figure => {
  if (figure == null) return [NOTHING];
  const half = (figure.high - figure.low) / 2, places = half < 0.95 ? 1 : 0;
  return [`${fixed(figure.estimate, places)}\u00a0±\u00a0${fixed(half, places)}`];
};
const than = ({isBase, verdicts, than_base_p50_ns: difference}) => {
  const word = isBase ? "" : verdicts.p50;
  if (word !== "later" && word !== "earlier") return [word];
  return [`${time(Math.abs(difference.estimate))} ${word}`];
};

// One logarithmic scale for all rows of all files: from a lateness to a share of the width.
const scaleOf = files => {
  const rows = files.flatMap(data => data.rows);
  const lows = rows.flatMap(row => [row.p50_ns?.estimate / 3, row.p99_ns?.low]).filter(ns => ns > 0);
  const low = Math.log10(Math.min(...lows, 1e5));
  const high = Math.max(Math.log10(Math.max(1, ...rows.map(row => row.max_ns ?? 0))), low + 1);
  const at = ns => Math.min(1, Math.max(0, 0.03 + 0.94 * (Math.log10(Math.max(ns, 1e-9)) - low) / (high - low)));
  const powers = Array.from({length: 14}, (_, power) => 10 ** power);
  // Not so near to an end that a label leaves the page.
  const inside = (steps, edge) => powers.flatMap(power => steps.map(step => step * power))
    .filter(ns => at(ns) > edge && at(ns) < 1 - edge);
  return {at, percent: ns => `${100 * at(ns)}%`, ticks: inside(high - low < 3 ? [1, 2, 5] : [1], 0.02),
    small: inside([2, 3, 4, 5, 6, 7, 8, 9], 0)};
};

// The share of deadlines in equal steps of the logarithm, smoothed over neighbours. Its root lets tails be seen.
const shapeOf = (row, scale) => {
  const bins = new Array(BINS).fill(0);
  const buckets = row.lateness.flatMap(turn => turn.split(" ").filter(Boolean));
  for (const [ns, count = 1] of buckets.map(bucket => bucket.split(":").map(Number))) {
    bins[Math.min(BINS - 1, Math.floor(BINS * scale.at(ns * 1.016)))] += count;
  }
  const smooth = bins.map((count, i) => (bins[i - 1] ?? 0) / 4 + count / 2 + (bins[i + 1] ?? 0) / 4);
  const most = Math.max(...smooth, 1e-9);
  const points = smooth.map((count, i) => `${i + 0.5},${(100 - 98 * Math.sqrt(count / most)).toFixed(1)}`);
  return `M0,100L${points.join("L")}L${BINS},100Z`;
};

// The marks of a lane, which stand on its base line. The legend has the same.
const BASE = 34;
const marks = {
  shape: d => draw("svg", {viewBox: `0 0 ${BINS} 100`, preserveAspectRatio: "none", y: 4, width: "100%",
    height: BASE - 4}, draw("path", {class: "shape", d})),
  line: (name, x1, x2, y1 = BASE, y2 = BASE) => draw("line", {class: name, x1, x2, y1, y2}),
  p50: x => draw("circle", {class: "p50", cx: x, cy: BASE, r: 4.5}),
  p99: x => marks.line("p99", x, x, BASE - 8, BASE + 8),
  range: (low, high) => [marks.line("range", low, high), marks.line("cap", low, low, BASE - 4, BASE + 4),
    marks.line("cap", high, high, BASE - 4, BASE + 4)],
  worst: x => draw("circle", {class: "worst", cx: x, cy: BASE, r: 3.5}),
};
const lane = (row, scale) => {
  const {p50_ns: p50, p99_ns: p99, max_ns: worst} = row, at = scale.percent;
  const words = `${row.row}: p50 ${time(p50?.estimate)}, p99 ${rangedTime(p99).join(" ")}, worst ${time(worst)}`;
  const problem = row.problem && make("p", {class: "warning"}, row.problem);
  if (problem && !p50) return [problem];
  const picture = draw("svg", {role: "img", "aria-label": words},
    scale.ticks.map(ns => marks.line("grid", at(ns), at(ns), 0, "100%")), marks.line("ground", 0, "100%"),
    marks.shape(shapeOf(row, scale)), p99?.low != null && marks.range(at(p99.low), at(p99.high)),
    worst != null && marks.worst(at(worst)), p99 && marks.p99(at(p99.estimate)), p50 && marks.p50(at(p50.estimate)));
  return [[picture, problem]];
};
const unitsOf = scale => [...new Set(scale.ticks.map(ns => unitOf(ns)[0]))].join(", ").replace(/, (?=\S+$)/, " and ");
const axis = scale => [make("span", {class: "title"}, `lateness of all deadlines in ${unitsOf(scale)}, logarithmic`),
  draw("svg", {"aria-hidden": "true"},
    scale.small.map(ns => marks.line("tick", scale.percent(ns), scale.percent(ns), 19, 22)),
    scale.ticks.map(ns => marks.line("tick", scale.percent(ns), scale.percent(ns), 16, 22)),
    scale.ticks.map(ns => draw("text", {x: scale.percent(ns), y: 12}, setting(ns))))];
const legend = () => {
  const sample = (text, width, ...shown) => make("span", {},
    draw("svg", {width, viewBox: `0 ${BASE - 15} ${width} 30`, "aria-hidden": "true"}, ...shown), text);
  return make("p", {class: "legend"},
    sample("share of deadlines (square-root scale, each row on its own)", 30,
      draw("path", {class: "shape", d: "M0,42C10,42 9,24 13,24S18,42 30,42Z"})),
    sample("p50", 10, marks.p50(5)), sample("p99 and its range", 30, marks.range(2, 28), marks.p99(18)),
    sample("worst", 10, marks.worst(5)));
};

// A table with a line for each row. A column is its name, its title, and a row's cell: a value and what follows it.
const table = (name, rows, columns, caption) => {
  const line = row => make("tr", {class: row.isBase ? `${row.kind} reference` : row.kind, "data-row": row.row},
    make("th", {scope: "row"}, row.row),
    columns.map(([key, title, cell]) => {
      const [value, range] = cell(row);
      return make("td", {class: key, "data-name": key === "lane" ? undefined : title}, value,
        range != null && [" ", make("small", {}, range)]);
    }));
  const titles = columns.map(([key, title]) => make("th", {scope: "col", class: key}, title));
  return make("table", {class: name}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "row"), titles)), make("tbody", {}, rows.map(line)));
};
// Of two builds, each row of this one has its own base.
const nameOfBase = rows => rows.some(({row}) => row.startsWith("other:")) ? "the other"
  : rows.find(({base}) => base)?.base ?? rows[0]?.row;
const picture = (data, rows, scale) => table("picture", rows, [
  ["lane", axis(scale), row => lane(row, scale)],
  ["p50", "p50", row => [time(row.p50_ns?.estimate)]],
  ["p99", "p99 (range)", row => rangedTime(row.p99_ns)],
  ["missed", "missed", row => [percent(row.missed_percent?.estimate)]],
  ["drift", "drift ppm", row => drift(row.drift_ppm)],
  ["cpu", "CPU", row => [percent(row.cpu_percent?.estimate)]],
  ["than", `than ${nameOfBase(rows)}`, than]], `How late the rows tick: ${data.heading}`);
const hundredths = number => fixed(number, 2);
const percentiles = (data, rows) => table("figures", rows, [
  ["count", "deadlines", row => [row.deadlines?.toLocaleString("en") ?? NOTHING]],
  ...[["p50", "p50_ns"], ["p90", "p90_ns"], ["p99", "p99_ns"], ["p99.9", "p999_ns"]]
    .map(([title, key]) => ["time", title, row => rangedTime(row[key])]),
  ["time", "worst", row => [time(row.max_ns)]],
  ["share", "missed", row => ranged(row.missed_percent, percent, part => fixed(part, 1))],
  ["rate", "wake-ups per tick", row => ranged(row.wakeups_per_tick, hundredths, hundredths)],
  ["rate", "switches per tick", row => ranged(row.switches_per_tick, hundredths, hundredths)],
  ["share", "waited for a processor", row => [percent(row.run_delay_percent)]]], data.heading);

// What is known of the machine and of the measurement, in sentences.
const facts = ({facts}) => facts == null ? make("p", {}, "An earlier version wrote this file, without this part.")
  : make("dl", {}, facts.map(({name, text}) => [make("dt", {}, name), make("dd", {}, text)]));
// The needs with their outcomes, and what was found of each row.
const OUTCOMES = {meets: "met", undecided: "undecided", fails: "not met"};
const needsOf = needs => needs.map(({need, outcome, rows}) => make("div", {class: "need"},
  make("p", {class: outcome === "meets" ? undefined : "warning"}, `need ${need}: ${OUTCOMES[outcome]}`),
  make("ul", {}, rows.map(({row, load, outcome, reason}) =>
    make("li", {}, `${OUTCOMES[outcome]}: ${load === "idle" ? row : `${row}@${load}`}, ${reason}`)))));
// What was measured and what follows of another file, as the page has it of its own.
const head = ({heading, state, disturbance = state, confidence, missing = [], advice = [], needs = []}) => {
  const [headline, ...more] = advice.filter(text => !disturbance?.includes(text));
  const answers = [["The machine during the run", disturbance, state && "warning"], ["How reliable the figures are", confidence]];
  return make("div", {class: "head"},
    make("div", {}, make("p", {class: "heading"}, heading),
      missing.length > 0 && make("p", {class: "warning"}, `PARTIAL: ${missing.join("; ")}`),
      headline && make("h2", {}, headline),
      more.length > 0 && make("p", {class: "advice"}, more.join(" ")), needsOf(needs)),
    make("dl", {class: "answers"}, answers.filter(([, text]) => text).map(([name, text, kind]) =>
      [make("dt", {}, name), make("dd", {class: kind}, text)])));
};

// Everything that the choice of a load or of another file changes.
const loadsOf = data => [...new Set(data.rows.map(row => row.load))];
const put = (id, ...children) => fill(byId(id), {}, children);
const rowsOf = (data, load) => {
  const chosen = loadsOf(data).includes(load) ? load : loadsOf(data)[0];
  return data.rows.filter(row => row.load === chosen);
};
const show = () => {
  const asked = new URLSearchParams(location.hash.slice(1)).get("load");
  const rows = rowsOf(first, asked), load = rows[0]?.load;
  for (const input of document.querySelectorAll("[name=load]")) input.checked = input.value === load;
  const files = other ? [first, other] : [first], scale = scaleOf(files);
  put("picture", picture(first, rows, scale), legend());
  put("beside", other && [head(other), picture(other, rowsOf(other, load), scale)]);
  put("percentiles", files.map(data => percentiles(data, rowsOf(data, load))));
  put("facts", files.map(data => [other && make("h3", {}, data.heading), facts(data)]));
};

// A file that cannot be drawn leaves the page as it was.
const read = async file => {
  try {
    other = file && JSON.parse(await file.text());
    if (file && other?.schema !== first.schema) throw new TypeError();
    other = other && flat(other);
    show();
    put("said", other && "Drawn below, on the same scale.");
  } catch {
    other = undefined;
    show();
    put("said", `${file.name} has no results of schema 4. Choose a file that this version of compare-backends wrote, `
      + "or measure again with -o results.json.");
  }
};

const loads = loadsOf(first);
put("loads", loads.length > 1 && make("fieldset", {}, make("legend", {}, "Load"), loads.map(load =>
  make("label", {}, make("input", {type: "radio", name: "load", value: load}), load))));
byId("loads").addEventListener("change", event => {
  history.replaceState(null, "", "#" + new URLSearchParams({load: event.target.value}));
  show();
});
byId("file").addEventListener("change", event => read(event.target.files[0]));
addEventListener("hashchange", show);
// Paper has no parts to open, and neither has the page without this script.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => folded.forEach(part => part.removeAttribute("open")));
show();
for (const part of document.querySelectorAll("details")) part.open = false;
document.querySelector(".beside").hidden = false;
})();
