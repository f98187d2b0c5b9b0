/// What the page does: draws the pictures and answers the reader.
enum PageScript {
    /// Comes before all else and keeps what goes wrong where a test finds it.
    static let errors = #"""
        "use strict";
        const noteError = text => {
          const root = document.documentElement;
          root.dataset.errors = [root.dataset.errors, text].filter(Boolean).join("\n");
        };
        addEventListener("error", event => noteError(event.message));
        addEventListener("unhandledrejection", event => noteError(String(event.reason)));
        """#

    /// The rest, in an order in which nothing is used before it is there.
    static let text = """
        "use strict";
        (() => {
        \(tools)
        \(scales)
        \(overview)
        \(curves)
        \(time)
        \(drift)
        \(price)
        \(controls)
        })();
        """

    /// The data, elements, and numbers as text.
    private static let tools = #"""
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
            ? (row.variant % 2 ? [[-r, -r], [r, -r], [r, r], [-r, r]] : [[0, -r - 1.5], [r + 1.5, 0], [0, r + 1.5], [-r - 1.5, 0]])
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
        """#

    private static let scales = #"""
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
        """#
}
