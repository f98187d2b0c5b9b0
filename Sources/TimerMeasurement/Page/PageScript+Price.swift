/// The pictures of drift and price.
extension PageScript {
    /// A panel for each row: its slope with the band of its noise.
    static let drift = #"""
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
              spots.push({ x: x0 + 20, y: y0 + 22, entry, lines: [entry.ticks.count + " ticks, too few in a turn for a slope"] });
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
            const cut = us => [Math.abs(us) <= reach ? span : span * reach / Math.abs(us), Math.max(-reach, Math.min(reach, us))];
            const out = [low, high].some(us => Math.abs(us) > reach * 1.001);
            const [lx, ly] = cut(low), [hx, hy] = cut(high), [ex, ey] = cut(span * drift.ppm);
            const real = Math.abs(drift.ppm) > drift.noise_ppm;
            const corner = lx < span && hx < span && ly === hy ? [] : [[span, hx < span ? hy : high], [span, lx < span ? ly : low]];
            group.append(
              text(x0 - 2, y0 + 30, said + (out ? " ↗" : ""), { class: real ? "alarm" : "tick" }),
              svg("path", { d: path([[0, 0], [hx, hy], ...corner, [lx, ly]].map(([s, us]) => [x(s), inner(y(us))])) + "Z",
                class: "band" }),
              svg("path", { d: path([[x(0), y(0)], [x(ex), y(ey)]]), class: "line" }), marker(row, x(ex), y(ey), 3.5));
            const lines = ["drift " + said, real ? "more than its noise" : "no more than its noise",
              ...(out ? ["leaves the scale that all share"] : []), "from a turn’s middle to its end " + time(drift.end_offset_ns),
              "after " + span + " s " + time(drift.ppm * span * 1000)];
            root.append(group);
            for (const seconds of [0, span / 2, span]) spots.push({ x: x(seconds), y: y(0), entry, lines });
          });
          return { height: tall * Math.max(1, Math.ceil(entries.length / columns)), root, spots, weight: 1,
            label: "Drift of every row with the band of its noise" };
        };
        """#

    /// Time on a processor against lateness.
    static let price = #"""
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
        """#
}
