"use strict";
// Draws the pictures and answers the reader. Everything is defined before its first use.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const rowOf = new Map(data.rows.map(row => [row.name, row]));
const state = { rows: new Set(data.rows.map(row => row.name)), load: data.loads[0], curve: "both" };

const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const text = (x, y, string, attributes = {}) => svg("text", { x, y, ...attributes }, string);
const path = points => points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("");
const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });

const digits = value => {
  const size = Math.abs(value);
  return value.toFixed(size === 0 || size >= 9.95 ? 0 : size < 0.995 ? 2 : 1).replace("-", "\u2212");
};
const time = ns => {
  const size = Math.abs(ns);
  const [scale, unit] = size < 999.5e3 ? [1e3, "µs"] : size < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  return digits(ns / scale) + " " + unit;
};
const share = (part, all) => {
  const percent = all > 0 ? 100 * part / all : 0;
  return percent > 0 && percent < 0.01 ? "<0.01 %" : digits(percent) + " %";
};
// As many nines as there are, without the error of binary fractions.
const percentile = nines => {
  const percent = 100 * (1 - 10 ** -nines);
  return String(+percent.toFixed(Math.max(nines < 1 ? 0 : 1, Math.ceil(nines) - 1)));
};

// How a row looks: its colour, dash and marker.
const look = row => [row.kind, row.hue < 0 ? "grey" : "hue" + row.hue, row.variant % 2 ? "other" : ""].join(" ");
const marker = (row, x, y, r = 5) => {
  const name = { class: "mark" };
  if (row.kind === "backend") return svg("circle", { cx: x, cy: y, r, ...name });
  const shape = row.kind === "peer"
    ? (row.variant % 2
      ? [[-r, -r], [r, -r], [r, r], [-r, r]] : [[0, -r - 1.5], [r + 1.5, 0], [0, r + 1.5], [-r - 1.5, 0]])
    : (row.variant % 2 ? [[-r, -r * 0.7], [r, -r * 0.7], [0, r]] : [[-r, r * 0.7], [r, r * 0.7], [0, -r]]);
  return svg("path", { d: path(shape.map(([dx, dy]) => [x + dx, y + dy])) + "Z", ...name });
};
const series = (entry, ...children) => {
  const group = svg("g", { class: "series " + look(rowOf.get(entry.row)) }, ...children);
  group.dataset.case = entry.name;
  group.dataset.row = entry.row;
  return group;
};
const shown = load => data.entries
  .filter(entry => state.rows.has(entry.row) && entry.ticks.count > 0 && (load === undefined || entry.load === load));
const missedText = entry => share(entry.missed, entry.missed + entry.ticks.count) + " missed";
const figures = entry => ["p50 " + time(entry.p50) + ", p90 " + time(entry.p90), "p99 " + time(entry.p99)
  + ", p99.9 " + time(entry.p999), "latest " + time(entry.max), entry.ticks.count + " ticks, " + missedText(entry)];
// No lateness is drawn below a tenth of a microsecond: the logarithm of nothing has no place.
const least = 100;
const decades = values => {
  let low = Infinity, high = least;
  for (const value of values) {
    if (value >= least && value < low) low = value;
    if (value > high) high = value;
  }
  const from = Math.floor(Math.log10(Math.min(low, high)) + 1e-9);
  return [from, Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9))];
};
const logScale = ([from, to], start, end) => value =>
  start + (end - start) * Math.max(0, (Math.log10(Math.max(value, least)) - from) / (to - from));
const powers = ([from, to], most) => {
  const step = Math.max(1, Math.ceil((to - from) / most));
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => 10 ** (from + i * step));
};
const powerText = ns => ns >= 1e9 ? ns / 1e9 + " s" : ns >= 1e6 ? ns / 1e6 + " ms" : ns / 1e3 + " µs";
// Round steps of 1, 2 or 5, some `count` of them.
const steps = (from, to, count) => {
  const raw = (to - from) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find(factor => factor * power >= raw) || 10);
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
};
const plain = value => String(+value.toPrecision(6)).replace("-", "\u2212");
// Pushes labels apart, in the order of their places, and keeps them within bounds.
const apart = (labels, gap, top, bottom) => {
  labels.sort((a, b) => a.y - b.y);
  let last = top - gap;
  for (const label of labels) last = label.y = Math.max(label.y, last + gap);
  let next = bottom + gap;
  for (const label of [...labels].reverse()) next = label.y = Math.min(label.y, next - gap);
  return labels;
};
const room = (names, most) => Math.min(most, 14 + 7.1 * Math.max(0, ...names.map(name => name.length)));
// What is too long loses its middle, for the ends differ; a peer's marker tells that it is one.
const short = (name, width) => {
  const count = Math.max(5, Math.floor((width - 6) / 7));
  if (name.length <= count) return name;
  const rest = name.replace(/^peer-/, "");
  const half = Math.floor((count - 1) / 2);
  return rest.length <= count ? rest : rest.slice(0, half) + "…" + rest.slice(-half);
};

// All rows: from the median to the latest tick, the loads side by side.
const overview = width => {
  const entries = shown();
  const loads = data.loads.filter(load => entries.some(entry => entry.load === load));
  const rows = data.rows.filter(row => state.rows.has(row.name));
  const beside = Math.max(1, Math.min(loads.length, Math.floor((width - 120) / 270)));
  const left = room(rows.map(row => row.name), width < 600 ? 126 : 190);
  const facet = (width - left) / beside, lane = 24, top = 26;
  const height = top + rows.length * lane + 40;
  const domain = decades(entries.flatMap(entry => [Math.max(entry.p50, least), entry.max]));
  const root = svg("g"), spots = [];
  loads.forEach((load, number) => {
    const x0 = left + (number % beside) * facet, y0 = Math.floor(number / beside) * height;
    const x = logScale(domain, x0 + 10, x0 + facet - 62);
    root.append(text(x0 + 10, y0 + 14, load, { class: "name" }));
    for (const power of powers(domain, facet < 330 ? 3 : 5)) {
      root.append(line(x(power), y0 + top - 4, x(power), y0 + top + rows.length * lane, "grid"),
        text(x(power), y0 + top + rows.length * lane + 14, powerText(power),
          { class: "tick", "text-anchor": "middle" }));
    }
    if (number % beside === 0) {
      root.append(text(x0 + 10, y0 + height - 8, "lateness, logarithmic", { class: "axis" }));
    }
    rows.forEach((row, index) => {
      const y = y0 + top + index * lane + lane / 2;
      if (number % beside === 0) {
        root.append(text(0, y + 4, short(row.name, left), { class: "label " + look(row) }));
      }
      const entry = entries.find(entry => entry.load === load && entry.row === row.name);
      if (!entry) return;
      const [a, b, c] = [entry.p50, entry.p99, entry.max].map(x);
      const group = series(entry,
        svg("path", { d: path([[a, y], [c, y]]), class: "solid", "stroke-width": 1, opacity: 0.6 }),
        svg("path", { d: path([[a, y], [b, y]]), class: "solid", "stroke-width": 3.5, opacity: 0.75 }),
        svg("path", { d: path([[b, y - 5], [b, y + 5]]), class: "solid", "stroke-width": 2 }),
        svg("circle", { cx: c, cy: y, r: 2.5, class: "open" }), marker(row, a, y));
      const parts = entry.missed / (entry.missed + entry.ticks.count);
      if (entry.missed > 0) {
        const percent = parts < 0.001 ? "<0.1 %" : digits(100 * parts) + " %";
        group.append(text(x0 + facet - 2, y + 4, percent, { class: "alarm", "text-anchor": "end" }));
      }
      root.append(group);
      for (const at of [a, b, c]) spots.push({ x: at, y, entry, lines: figures(entry) });
    });
    if (entries.some(entry => entry.load === load && entry.missed > 0)) {
      root.append(text(x0 + facet - 2, y0 + 14, "missed", { class: "axis", "text-anchor": "end" }));
    }
  });
  return { height: height * Math.ceil(loads.length / beside), root, spots, weight: 4,
    label: "Median, 99th percentile and latest tick of every row under every load" };
};

// Percentiles on an axis of nines.
const curves = (width, load) => {
  const entries = shown(load), wide = width >= 640;
  const left = 54, right = wide ? room(entries.map(entry => entry.row), 180) + 12 : 12;
  const top = 22, height = wide ? 420 : 320, bottom = height - 46;
  const domain = decades(shown().flatMap(entry => entry.ticks.values.slice(1).concat(entry.deadlines.values.slice(1))));
  const most = Math.max(1, ...entries.map(entry => Math.log10(Math.max(entry.deadlines.count, entry.ticks.count))));
  const x = nines => left + (width - left - right) * nines / most, y = logScale(domain, bottom, top);
  const root = svg("g"), spots = [], labels = [];
  for (const power of powers(domain, 6)) {
    root.append(line(left, y(power), width - right, y(power), "grid"),
      text(left - 7, y(power) + 4, powerText(power), { class: "tick", "text-anchor": "end" }));
  }
  for (const nines of [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7].filter(nines => nines <= most + 1e-9)) {
    root.append(line(x(nines), top, x(nines), bottom, "grid"),
      text(x(nines), bottom + 16, percentile(nines), { class: "tick", "text-anchor": "middle" }));
  }
  root.append(text(left, bottom + 36, "% of the " + (state.curve === "deadlines" ? "deadlines" : "ticks")
      + " that came no later", { class: "axis" }),
    text(0, 12, "lateness, logarithmic", { class: "axis" }));
  for (const entry of entries) {
    const group = series(entry), row = rowOf.get(entry.row);
    const draw = (curve, name, thin) => {
      const points = curve.values.map((value, i) => [i < curve.values.length - 1
        ? data.nines[i] : Math.log10(curve.count), value]);
      group.append(svg("path", { d: path(points.map(([n, v]) => [x(n), y(v)])), class: thin ? "line thin" : "line",
        "data-counts": name }));
      points.forEach(([nines, value], i) => spots.push({ x: x(nines), y: y(value), entry, lines: [
        i < points.length - 1 ? percentile(nines) + " % of the " + name + " no later than " + time(value)
          : "the latest: " + time(value),
        ...(i < points.length - 1 ? ["one in " + digits(10 ** nines) + " is later"] : []), missedText(entry)] }));
      return points[points.length - 1];
    };
    let end;
    const differ = entry.missed > 0;
    if (state.curve !== "deadlines") end = draw(entry.ticks, "ticks", false);
    if (state.curve === "deadlines") end = draw(entry.deadlines, "deadlines", false);
    if (state.curve === "both" && differ) draw(entry.deadlines, "deadlines", true);
    const [ex, ey] = [x(end[0]), y(end[1])];
    group.append(marker(row, ex, ey, 3.5));
    if (wide) labels.push({ y: ey, x: ex, at: ey, entry, group });
    root.append(group);
  }
  for (const label of apart(labels, 14, top + 4, bottom)) {
    label.group.append(svg("path", { d: path([[label.x + 5, label.at], [width - right + 10, label.y]]),
      class: "leader", opacity: 0.6 }),
      text(width - right + 13, label.y + 4, short(label.entry.row, right - 4), { class: "label" }));
  }
  return { height, root, spots, weight: 1, label: "Percentiles of the lateness of every row" };
};

// A strip for each row: the median and the latest tick of every stretch.
const overTime = (width, load) => {
  const entries = shown(load), wide = width >= 640;
  const names = wide ? room(entries.map(entry => entry.row), 170) : 0;
  const left = names + 48, strip = wide ? 46 : 62, top = 24, gap = 14;
  const bottom = top + entries.length * (strip + gap), height = bottom + 36;
  const ends = data.rounds.map(round => round.end / 1e6);
  const end = Math.max(1e-6, ...ends, ...entries.flatMap(entry => entry.times.slice(-1)).map(at => at / 1e6));
  const domain = decades(entries.flatMap(entry => entry.medians.concat(entry.greatest)));
  const x = seconds => left + (width - left - 8) * seconds / end;
  const root = svg("g"), spots = [];
  data.rounds.forEach((round, number) => {
    const [from, to] = [x(round.start / 1e6), x(round.end / 1e6)];
    const disturbed = round.disturbances.length > 0;
    if (disturbed) {
      const shade = svg("rect", { x: from, y: top - 6, width: Math.max(1, to - from), height: bottom - top,
        class: "shade" });
      shade.dataset.disturbed = number + 1;
      root.append(shade);
    }
    root.append(line(from, top - 6, from, bottom - gap, "grid"));
    if (to - from > 16) {
      root.append(text((from + to) / 2, top - 10, String(number + 1), { class: disturbed ? "name" : "tick",
        "text-anchor": "middle" }));
    }
  });
  root.append(text(0, top - 10, "round", { class: "axis" }));
  for (const second of steps(0, end, Math.max(2, (width - left) / 90))) {
    root.append(text(x(second), bottom + 10, plain(second), { class: "tick", "text-anchor": "middle" }));
  }
  root.append(text(left, bottom + 28, "seconds since the beginning; lateness upwards, logarithmic", { class: "axis" }));
  entries.forEach((entry, number) => {
    const y0 = top + number * (strip + gap), y = logScale(domain, y0 + strip, y0 + (wide ? 4 : 18));
    const marks = powers(domain, 2);
    for (const power of marks) {
      root.append(line(left, y(power), width - 8, y(power), "grid"),
        text(left - 5, y(power) + 4, powerText(power), { class: "tick", "text-anchor": "end" }));
    }
    const at = entry.times.map(time => x(time / 1e6));
    const hairs = at.map((x, i) => path([[x, y(entry.medians[i])], [x, y(entry.greatest[i]) - 0.5]])).join("");
    const row = rowOf.get(entry.row);
    const thick = Math.max(0.6, Math.min(2.5, 0.6 * (width - left) / Math.max(1, at.length)));
    root.append(series(entry,
      text(wide ? 0 : left, wide ? y0 + strip / 2 + 4 : y0 + 11, wide ? short(entry.row, names) : entry.row,
        { class: "label" }),
      svg("path", { d: hairs, class: "hair", "stroke-width": thick }),
      svg("path", { d: path(at.map((x, i) => [x, y(entry.medians[i])])), class: "hair", "stroke-width": 1 }),
      svg("path", { d: at.map((x, i) => path([[x, y(entry.medians[i])]]) + "h0").join(""), class: "solid",
        "stroke-width": 2.6, "stroke-linecap": "round" })));
    entry.times.forEach((time_, i) => {
      const index = data.rounds.findLastIndex(round => round.start <= time_);
      const round = data.rounds[Math.max(0, index)];
      spots.push({ x: at[i], y: y0 + strip / 2, entry, lines: ["median " + time(entry.medians[i]),
        "latest " + time(entry.greatest[i]), "at " + (time_ / 1e6).toFixed(2) + " s, round " + (index + 1),
        ...(round ? round.disturbances : [])] });
    });
  });
  return { height, root, spots, weight: 12, label: "Median and greatest lateness of every row over time" };
};

// A panel for each row: its slope with the band of its noise.
const overDrift = (width, load) => {
  const entries = shown(load), span = 10;
  const columns = Math.max(1, Math.min(entries.length, Math.floor(width / (width < 640 ? 165 : 200))));
  const panel = width / columns, left = 44;
  // Panels share a scale. A row that drifts far more than the others would flatten them: it leaves its panel.
  const reaches = entries.filter(entry => entry.drift)
    .map(entry => Math.abs(entry.drift.ppm) + entry.drift.noise_ppm).sort((a, b) => a - b);
  const tall = reaches.length ? 132 : 44;
  const middle = reaches[Math.floor((reaches.length - 1) / 2)] || 0;
  const reach = Math.max(0.1, ...reaches.filter(reach => reach <= 6 * middle)) * span;
  const root = svg("g"), spots = [], [unit, name] = reach < 2000 ? [1, "µs"] : reach < 2e6 ? [1e3, "ms"] : [1e6, "s"];
  entries.forEach((entry, number) => {
    const x0 = (number % columns) * panel + left, y0 = Math.floor(number / columns) * tall;
    const x = seconds => x0 + (panel - left - 14) * seconds / span;
    const inner = y => Math.max(y0 + 38, Math.min(y0 + tall - 26, y));
    const y = us => y0 + 38 + (tall - 64) * (1 - us / reach) / 2;
    const drift = entry.drift, row = rowOf.get(entry.row);
    const group = series(entry, text(x0 - 2, y0 + 15, short(entry.row, panel - 56), { class: "label" }));
    if (!drift) {
      group.append(text(x0 - 2, y0 + 30, "too few ticks", { class: "tick" }));
      root.append(group);
      const lines = [entry.ticks.count + " ticks, too few in a turn for a slope"];
      spots.push({ x: x0 + 20, y: y0 + 22, entry, lines });
      return;
    }
    for (const us of steps(-reach, reach, 3)) {
      root.append(line(x(0), y(us), x(span), y(us), us === 0 ? "zero" : "grid"),
        text(x0 - 5, y(us) + 4, plain(us / unit), { class: "tick", "text-anchor": "end" }));
    }
    for (const seconds of [0, 5, 10]) {
      root.append(text(x(seconds), y0 + tall - 10, seconds + (seconds === 10 ? " s" : ""), { class: "tick",
        "text-anchor": "middle" }));
    }
    if (number % columns === 0) root.append(text(0, y0 + 15, name, { class: "axis" }));
    const said = (drift.ppm > 0 ? "+" : "") + digits(drift.ppm) + " ± " + digits(drift.noise_ppm) + " ppm";
    const low = span * (drift.ppm - drift.noise_ppm), high = span * (drift.ppm + drift.noise_ppm);
    // What leaves the panel is cut where it does.
    const cut = us =>
      [Math.abs(us) <= reach ? span : span * reach / Math.abs(us), Math.max(-reach, Math.min(reach, us))];
    const out = [low, high].some(us => Math.abs(us) > reach * 1.001);
    const [lx, ly] = cut(low), [hx, hy] = cut(high), [ex, ey] = cut(span * drift.ppm);
    const real = Math.abs(drift.ppm) > drift.noise_ppm;
    const corner = lx < span && hx < span && ly === hy
      ? [] : [[span, hx < span ? hy : high], [span, lx < span ? ly : low]];
    group.append(
      text(x0 - 2, y0 + 30, said + (out ? " ↗" : ""), { class: real ? "alarm" : "tick" }),
      svg("path", { d: path([[0, 0], [hx, hy], ...corner, [lx, ly]].map(([s, us]) => [x(s), inner(y(us))])) + "Z",
        class: "band" }),
      svg("path", { d: path([[x(0), y(0)], [x(ex), y(ey)]]), class: "line" }), marker(row, x(ex), y(ey), 3.5));
    const lines = ["drift " + said, real ? "more than its noise" : "no more than its noise",
      ...(out ? ["leaves the common scale"] : []),
      "from a turn’s middle to its end " + time(drift.end_offset_ns),
      "after " + span + " s " + time(drift.ppm * span * 1000)];
    root.append(group);
    for (const seconds of [0, span / 2, span]) spots.push({ x: x(seconds), y: y(0), entry, lines });
  });
  return { height: tall * Math.max(1, Math.ceil(entries.length / columns)), root, spots, weight: 1,
    label: "Drift of every row with the band of its noise" };
};

// Processor time against lateness.
const overPrice = (width, load) => {
  const entries = shown(load).filter(entry => entry.cpu !== undefined), wide = width >= 640;
  const left = 54, right = 16, top = 24, height = wide ? 380 : 320, bottom = height - 46;
  const domain = decades(entries.flatMap(entry => [Math.max(entry.p50, least), entry.p99]));
  const y = logScale(domain, bottom, top), costs = entries.map(entry => entry.cpu);
  const paid = costs.filter(cost => cost > 0);
  // Logarithmic only where the prices are far apart: from zero is easier to read.
  const low = Math.min(...paid), high = Math.max(0.01, ...paid), apartFar = paid.length > 0 && high / low > 12;
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high) + 1e-9);
  const reach = width - left - right;
  const ticks = apartFar ? Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))
    : steps(0, high * 1.15, wide ? 6 : 4);
  const x = apartFar ? cost => left + reach * Math.max(0, (Math.log10(Math.max(cost, 1e-9)) - from) / (to - from))
    : cost => left + reach * Math.max(0, cost) / (high * 1.15);
  const root = svg("g"), spots = [], taken = [], names = [];
  for (const power of powers(domain, 6)) {
    root.append(line(left, y(power), width - right, y(power), "grid"),
      text(left - 7, y(power) + 4, powerText(power), { class: "tick", "text-anchor": "end" }));
  }
  for (const tick of ticks) {
    root.append(line(x(tick), top, x(tick), bottom, "grid"),
      text(x(tick), bottom + 16, plain(tick), { class: "tick", "text-anchor": "middle" }));
  }
  root.append(text(left, bottom + 36, "% of a processor" + (apartFar ? ", logarithmic" : ""), { class: "axis" }),
    text(0, 12, "lateness, p50 to p99, logarithmic", { class: "axis" }));
  for (const entry of entries) {
    const [cx, a, b] = [x(entry.cpu), y(entry.p50), y(entry.p99)];
    const group = series(entry, svg("path", { d: path([[cx, a], [cx, b]]), class: "line" }),
      svg("path", { d: path([[cx - 4, b], [cx + 4, b]]), class: "solid", "stroke-width": 2 }),
      marker(rowOf.get(entry.row), cx, a, 6));
    root.append(group);
    taken.push([cx - 8, a - 8, cx + 8, a + 8], [cx - 3, b, cx + 3, a]);
    names.push({ entry, group, cx, a, b });
    for (const at of [a, b]) {
      spots.push({ x: cx, y: at, entry, lines: [digits(entry.cpu) + " % of a processor", ...figures(entry)] });
    }
  }
  // A name stands where nothing else does, further off with a line to its marker; where there is no such place,
  // hovering tells.
  for (const { entry, group, cx, a, b } of names) {
    const long = entry.row.length * 7 + 4;
    const places = [[cx + 10, a + 4], [cx - 10 - long, a + 4], [cx - long / 2, a + 20], [cx - long / 2, b - 8],
      [cx + 10, a + 18], [cx - 10 - long, a + 18], [cx + 8, b + 2], [cx - 8 - long, b + 2],
      ...[1, 2, 3].flatMap(step => [[cx - long / 2, a + 20 + 14 * step], [cx - long / 2, b - 8 - 14 * step]])];
    const free = places.find(([px, py]) => px >= left && px + long <= width && py > top - 8 && py < bottom
      && taken.every(([x1, y1, x2, y2]) => px > x2 || px + long < x1 || py - 11 > y2 || py + 3 < y1));
    if (!free) continue;
    taken.push([free[0], free[1] - 11, free[0] + long, free[1] + 3]);
    group.append(text(free[0], free[1], entry.row, { class: "label" }));
    const [below, above] = [free[1] - a, b - free[1]];
    if (below > 24) group.append(svg("path", { d: path([[cx, a + 8], [cx, free[1] - 11]]), class: "leader" }));
    if (above > 12) group.append(svg("path", { d: path([[cx, b - 2], [cx, free[1] + 3]]), class: "leader" }));
  }
  return { height, root, spots, weight: 1, label: "Lateness of every row against its time on a processor" };
};

// The controls: rows, loads, curves, and the tip under the pointer.
const pictures = { overview, curves, time: overTime, drift: overDrift, price: overPrice };
const places = [...document.querySelectorAll(".picture")];
const tip = document.getElementById("tip");
const drawn = new Map();

// Hidden pictures are drawn as wide as the one that is always in sight: paper shows them all.
const draw = () => {
  const width = Math.max(280, Math.round(places[0].clientWidth));
  hideTip();
  for (const place of places) {
    const { root, spots, height, weight, label } = pictures[place.dataset.picture](width, place.dataset.load);
    const names = [...new Set(spots.map(spot => spot.entry.name))];
    const view = svg("svg", { viewBox: `0 0 ${width} ${Math.max(60, height)}`, role: "img", tabindex: 0,
      "aria-label": label + ": " + (names.join(", ") || "no row is chosen") + ". Arrow keys read the values." }, root);
    if (!names.length) view.append(text(0, 40, "No row is chosen, or none has such values."));
    const cursor = svg("circle", { r: 7, class: "cursor", visibility: "hidden" });
    view.append(cursor);
    place.replaceChildren(view);
    drawn.set(place, { view, spots, weight, cursor, width, at: -1 });
    listen(place);
  }
};

function hideTip() {
  tip.classList.remove("shown");
  for (const [place, picture] of drawn) {
    place.classList.remove("lit");
    picture.cursor.setAttribute("visibility", "hidden");
    for (const group of picture.view.querySelectorAll(".lit")) group.classList.remove("lit");
  }
}

const show = (place, spot) => {
  hideTip();
  const { view, cursor, width } = drawn.get(place), box = view.getBoundingClientRect(), scale = box.width / width;
  place.classList.add("lit");
  for (const group of view.querySelectorAll(".series")) {
    group.classList.toggle("lit", group.dataset.case === spot.entry.name);
  }
  cursor.setAttribute("cx", spot.x);
  cursor.setAttribute("cy", spot.y);
  cursor.setAttribute("visibility", "visible");
  const name = document.createElement("b");
  name.textContent = spot.entry.name;
  tip.replaceChildren(name, ...spot.lines.map(string => {
    const part = document.createElement("div");
    part.textContent = string;
    return part;
  }));
  const x = box.left + spot.x * scale, y = box.top + spot.y * scale;
  const right = x + 16 + tip.offsetWidth <= innerWidth;
  tip.style.left = Math.max(4, right ? x + 16 : x - 16 - tip.offsetWidth) + "px";
  tip.style.top = Math.max(4, Math.min(innerHeight - tip.offsetHeight - 4, y - tip.offsetHeight / 2)) + "px";
  tip.classList.add("shown");
};

function listen(place) {
  const picture = drawn.get(place), { view, spots } = picture;
  const near = event => {
    const box = view.getBoundingClientRect(), scale = box.width / picture.width;
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    let best = -1, least = Infinity;
    spots.forEach((spot, i) => {
      const distance = (spot.x - x) ** 2 + (picture.weight * (spot.y - y)) ** 2;
      if (distance < least) [best, least] = [i, distance];
    });
    if (best < 0) return;
    picture.at = best;
    show(place, spots[best]);
  };
  view.addEventListener("pointermove", near);
  view.addEventListener("pointerdown", near);
  view.addEventListener("pointerleave", hideTip);
  view.addEventListener("blur", hideTip);
  view.addEventListener("keydown", event => {
    if (event.key === "Escape") return hideTip();
    const along = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const across = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!spots.length || !(along || across)) return;
    event.preventDefault();
    if (picture.at < 0) picture.at = 0;
    else if (along) picture.at = Math.max(0, Math.min(spots.length - 1, picture.at + along));
    else {
      // The next case, as far along as this one.
      const cases = [...new Set(spots.map(spot => spot.entry))];
      const from = cases.indexOf(spots[picture.at].entry);
      const to = cases[(from + across + cases.length) % cases.length];
      const first = entry => spots.findIndex(spot => spot.entry === entry);
      const count = spots.filter(spot => spot.entry === to).length;
      picture.at = first(to) + Math.min(count - 1, picture.at - first(cases[from]));
    }
    show(place, spots[picture.at]);
  });
}

const press = (button, on) => button.setAttribute("aria-pressed", String(on));
const legend = document.getElementById("legend");
const kinds = { backend: "backends", peer: "peers", reference: "references" };
const present = Object.keys(kinds).filter(kind => data.rows.some(row => row.kind === kind));
const legendButton = (string, action) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(string);
  button.addEventListener("click", () => { action(); refresh(); });
  legend.append(button);
  return button;
};
for (const row of data.rows) {
  const button = legendButton(row.name, () => state.rows.delete(row.name) || state.rows.add(row.name));
  button.dataset.row = row.name;
  const sample = svg("svg", { width: 26, height: 14, viewBox: "0 0 26 14", class: look(row), "aria-hidden": "true" },
    svg("path", { d: "M0 7H26", class: "line" }), marker(row, 13, 7, 4));
  button.prepend(sample);
}
if (present.length > 1) {
  for (const kind of present) {
    const names = data.rows.filter(row => row.kind === kind).map(row => row.name);
    legendButton("all " + kinds[kind], () => {
      const all = names.every(name => state.rows.has(name));
      for (const name of names) all ? state.rows.delete(name) : state.rows.add(name);
    }).dataset.kind = kind;
  }
}
const refresh = () => {
  for (const button of legend.children) {
    if (button.dataset.row !== undefined) press(button, state.rows.has(button.dataset.row));
    else press(button, data.rows.every(row => row.kind !== button.dataset.kind || state.rows.has(row.name)));
  }
  for (const button of document.querySelectorAll("[data-curve]")) press(button, button.dataset.curve === state.curve);
  for (const button of document.querySelectorAll("[data-show-load]")) {
    press(button, button.dataset.showLoad === state.load);
  }
  for (const section of document.querySelectorAll("section.load")) {
    section.classList.toggle("off", state.load !== "" && section.dataset.load !== state.load);
  }
  draw();
};
for (const button of document.querySelectorAll("[data-curve]")) {
  button.addEventListener("click", () => { state.curve = button.dataset.curve; refresh(); });
}
for (const button of document.querySelectorAll("[data-show-load]")) {
  button.addEventListener("click", () => { state.load = button.dataset.showLoad; refresh(); });
}
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});
let lastWidth = 0;
addEventListener("resize", () => {
  const width = places[0].clientWidth;
  if (width === lastWidth) return;
  lastWidth = width;
  draw();
});
addEventListener("scroll", hideTip, { passive: true });
refresh();
document.documentElement.dataset.ready = "true";
window.pageReady = true;
})();
