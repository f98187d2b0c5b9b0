/// The pictures of how late ticks were.
extension PageScript {
    /// All cases: from the median to the latest tick, the loads side by side.
    static let overview = #"""
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
                text(x(power), y0 + top + rows.length * lane + 14, powerText(power), { class: "tick", "text-anchor": "middle" }));
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
        """#

    /// Percentiles on an axis of nines.
    static let curves = #"""
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
        """#

    /// A strip for each row: the median and the latest tick of every stretch.
    static let time = #"""
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
        """#
}
