/// How the page looks: one sheet for light and dark, for a telephone, a desk and paper.
enum PageStyle {
    static let text = [colours, layout, pictures, paper].joined(separator: "\n")

    /// The colours of the rows can be told apart by the colour-blind (after M. Okabe and K. Ito, "Color universal design",
    /// 2008), darkened for a light ground so that each has a contrast of 3 at least.
    private static let colours = #"""
        :root {
          color-scheme: light dark;
          --ground: light-dark(#fcfbf8, #15171a); --card: light-dark(#ffffff, #1c1f23);
          --ink: light-dark(#1c1f23, #e8e6e1); --quiet: light-dark(#5c6066, #a3a8af);
          --rule: light-dark(#e3e1da, #33373d); --strong: light-dark(#b9b6ad, #50565e);
          --accent: light-dark(#0b5cad, #7cb8f2); --alarm: light-dark(#b3261e, #ff8f85);
          --good: light-dark(#0a6b47, #5fd3a4); --shade: light-dark(#f6e3b4, #4a3c16);
          --hue0: light-dark(#0069b4, #5db5f0); --hue1: light-dark(#cf4f00, #ff8d4d);
          --hue2: light-dark(#008560, #2fc79a); --hue3: light-dark(#a8468a, #e795cc);
          --hue4: light-dark(#8f6b00, #e3c04a); --hue5: light-dark(#5750c4, #a9a3ff);
          --hue6: light-dark(#a3323f, #f58a96); --hue7: light-dark(#2d7d8a, #74d3df);
          --grey: light-dark(#63666b, #b0b4ba);
        }
        :root[data-theme="light"] { color-scheme: light; }
        :root[data-theme="dark"] { color-scheme: dark; }
        """#

    private static let layout = #"""
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--ground); color: var(--ink); line-height: 1.5;
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
        header, main, .bar { max-width: 1200px; margin: 0 auto; padding: 0 20px; }
        header { padding-top: 36px; }
        h1 { font-size: 32px; line-height: 1.15; letter-spacing: -0.02em; margin: 0; }
        h2 { font-size: 23px; letter-spacing: -0.01em; margin: 56px 0 16px; padding-top: 12px;
          border-top: 2px solid var(--ink); }
        h3 { font-size: 17px; margin: 0; }
        p { margin: 8px 0; max-width: 76ch; overflow-wrap: anywhere; }
        .lead { font-size: 18px; }
        .quiet { color: var(--quiet); font-size: 14px; }
        .warning { border-left: 4px solid var(--alarm); padding: 4px 12px; }
        .title { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; justify-content: space-between; }
        .title h1, .title h3 { flex: 1 1 220px; }
        nav { position: sticky; top: 0; z-index: 2; background: var(--ground); border-bottom: 1px solid var(--rule);
          margin-top: 20px; }
        .bar { padding-top: 10px; padding-bottom: 10px; display: flex; flex-wrap: wrap; gap: 10px 20px; }
        button { font: inherit; font-size: 13px; color: var(--ink); background: var(--card); cursor: pointer;
          border: 1px solid var(--strong); border-radius: 6px; padding: 4px 10px; min-height: 30px; }
        button:hover { border-color: var(--ink); }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .choice { display: flex; max-width: 100%; overflow-x: auto; padding: 4px; margin: -4px; }
        .choice button { border-radius: 0; margin-left: -1px; white-space: nowrap; flex: none; }
        .choice button:first-child { border-radius: 6px 0 0 6px; }
        .choice button:last-child { border-radius: 0 6px 6px 0; }
        .choice button[aria-pressed="true"] { background: var(--ink); color: var(--ground); border-color: var(--ink); }
        #legend { display: flex; flex-wrap: wrap; gap: 6px; min-width: 0; padding: 4px; margin: -4px; }
        #legend button { display: flex; align-items: center; gap: 6px; white-space: nowrap; flex: none; }
        #legend button[aria-pressed="false"] { color: var(--quiet); text-decoration: line-through;
          background: transparent; border-style: dashed; }
        #legend button[aria-pressed="false"] svg { opacity: 0.25; }
        figure { margin: 20px 0 28px; padding: 18px 20px 14px; background: var(--card); border: 1px solid var(--rule);
          border-radius: 10px; }
        figcaption { margin-top: 8px; }
        .scroll { overflow-x: auto; margin: 20px 0; max-width: 100%; }
        table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
        caption { text-align: left; font-weight: 600; font-size: 17px; padding-bottom: 8px; }
        th, td { padding: 4px 6px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
        th { font-weight: 600; } thead th { color: var(--quiet); font-weight: 500; }
        th[scope="colgroup"] { text-align: center; border-bottom-color: var(--strong); }
        tr > :first-child { text-align: left; padding-left: 0; }
        tbody tr:hover { background: light-dark(#f3f1ea, #24282d); }
        .results tbody th { position: sticky; left: 0; background: var(--ground); }
        .kind { color: var(--quiet); font-weight: 400; font-size: 12px; }
        .alarm { color: var(--alarm); font-weight: 600; }
        .words td { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 12ch; }
        .words th { vertical-align: top; font-weight: 500; color: var(--quiet); }
        .faster { color: var(--good); font-weight: 600; }
        .slower { color: var(--alarm); font-weight: 600; } .indistinguishable { color: var(--quiet); }
        li { overflow-wrap: anywhere; }
        .facts { padding-bottom: 60px; } .facts h3 { margin-top: 28px; }
        #tip { position: fixed; left: 0; top: 0; z-index: 3; pointer-events: none; max-width: 300px; padding: 8px 12px;
          background: var(--ink); color: var(--ground); border-radius: 6px; font-size: 13px; line-height: 1.45;
          visibility: hidden; overflow-wrap: anywhere; }
        #tip.shown { visibility: visible; } #tip b { display: block; }
        @media screen { .off { display: none; } }
        @media (max-width: 640px) {
          header, main, .bar { padding-left: 14px; padding-right: 14px; }
          header { padding-top: 22px; } h1 { font-size: 26px; } .lead { font-size: 16px; }
          figure { padding: 14px 10px 10px; margin-left: -6px; margin-right: -6px; }
          .bar { padding-top: 6px; padding-bottom: 6px; gap: 6px; }
          #legend { flex-wrap: nowrap; overflow-x: auto; }
        }
        """#

    private static let pictures = #"""
        .picture { position: relative; }
        .picture svg { display: block; width: 100%; height: auto; touch-action: pan-y; border-radius: 4px; }
        svg text { fill: var(--ink); font-size: 12px; font-family: inherit; }
        svg .tick, svg .axis { fill: var(--quiet); font-size: 11.5px; } svg .name { font-weight: 600; }
        svg .alarm { fill: var(--alarm); font-weight: 600; }
        svg .grid { stroke: var(--rule); fill: none; } svg .zero { stroke: var(--strong); fill: none; }
        svg .shade { fill: var(--shade); opacity: 0.7; }
        svg .leader { stroke: var(--strong); fill: none; }
        .hue0 { --c: var(--hue0); } .hue1 { --c: var(--hue1); } .hue2 { --c: var(--hue2); } .hue3 { --c: var(--hue3); }
        .hue4 { --c: var(--hue4); } .hue5 { --c: var(--hue5); } .hue6 { --c: var(--hue6); } .hue7 { --c: var(--hue7); }
        .grey { --c: var(--grey); }
        .line { stroke: var(--c); stroke-width: 2; fill: none; stroke-linejoin: round; }
        .peer .line { stroke-dasharray: 7 4; } .peer.other .line { stroke-dasharray: 2 3 9 3; }
        .reference .line { stroke-dasharray: 1.5 3.5; } .reference.other .line { stroke-dasharray: 1.5 2.5 5 2.5; }
        .line.thin { stroke-width: 1; opacity: 0.75; }
        .solid { stroke: var(--c); fill: none; } .hair { stroke: var(--c); opacity: 0.45; fill: none; }
        .band { fill: var(--c); opacity: 0.2; }
        .mark { fill: var(--c); stroke: var(--card); stroke-width: 1.2; }
        .open { fill: var(--card); stroke: var(--c); stroke-width: 1.4; }
        svg .label { fill: var(--c); font-weight: 600; paint-order: stroke; stroke: var(--card); stroke-width: 3px;
          stroke-linejoin: round; }
        .series { transition: opacity 0.12s; } .picture.lit .series:not(.lit) { opacity: 0.22; }
        .cursor { fill: none; stroke: var(--ink); stroke-width: 2; }
        @media (prefers-reduced-motion: reduce) { .series { transition: none; } }
        """#

    private static let paper = #"""
        @page { size: A4 landscape; margin: 11mm; }
        @media print {
          :root, :root[data-theme] { color-scheme: light; --ground: #fff; --card: #fff; }
          body { font-size: 12px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
          header, main, .bar { max-width: none; padding: 0; }
          nav { position: static; border: 0; margin: 0; } #legend button { border-color: transparent; padding: 0 8px 0 0; }
          .choice, #theme, #tip, #legend [data-kind] { display: none; }
          figure, tr, li { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
          figure { border: 0; padding: 0; } section.load { break-before: page; }
          h1 { font-size: 24px; } h2 { margin-top: 20px; font-size: 18px; } .lead { font-size: 13px; }
          .quiet { font-size: 11px; }
          .picture svg { max-height: 150mm; }
          .scroll { overflow: visible; } table { font-size: 8.5px; } th, td { padding: 2px 3.5px; }
          .kind { font-size: 7.5px; } .words { font-size: 11px; } .results tbody th { position: static; }
        }
        """#
}
