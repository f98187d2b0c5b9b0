internal import TimerResults

/// The section of one load: its pictures, its tables and its pairs.
struct PageLoad {
    let report: Report
    let load: String

    private var rows: [RowReport] { report.rows.filter { $0.key.load == load } }

    var html: String {
        let tables = PageTables(report: report, rows: rows, load: load)
        return """
            <section class="load" data-load="\(PageText.escaped(load))" aria-label="\(PageText.escaped(heading))">
            <h2>\(PageText.escaped(heading))</h2>
            \([curves, time, drift, price].map(\.html).joined(separator: "\n"))
            \(tables.figures(.page, "Results", "The figures"))
            \(tables.pairs)
            \(tables.figures(.details, "More figures", "More figures"))
            </section>
            """
    }

    private var heading: String { load == RowKey.idle ? "Without other work (idle)" : "Under the load \(load)" }

    private var curves: PagePicture {
        PagePicture(
            name: "curves",
            title: "How late, for what share of the ticks",
            load: load,
            sentence: PageSentences.curves(rows),
            note:
                "Among the ticks, a tick that carries missed deadlines counts once; among the deadlines, it counts "
                + "once for each of them. That corrects for coordinated omission. Solid lines are backends, "
                + "dashed lines peers, dotted lines references. The thinner, fainter lines are the "
                + "deadlines’.",
            controls: """
                <div class="choice" role="group" aria-label="What is counted">\
                <button type="button" data-curve="ticks">ticks</button>\
                <button type="button" data-curve="deadlines">deadlines</button>\
                <button type="button" data-curve="both">both</button></div>
                """
        )
    }

    private var time: PagePicture {
        PagePicture(
            name: "time",
            title: "Lateness over time",
            load: load,
            sentence: PageSentences.time(report.results.rounds),
            note:
                "For every stretch of time the dot is the median, and the line above it ends at the latest tick. "
                + "Rounds are numbered. Disturbed rounds are shaded; they count all the same."
        )
    }

    private var drift: PagePicture {
        PagePicture(
            name: "drift",
            title: "Drift: the lateness after ten seconds",
            load: load,
            sentence: PageSentences.drift(rows),
            note: "The slope of the lateness, extended: 1 ppm is 1 µs per second. The band is ± three standard "
                + "errors. While it holds the zero line, no drift was seen. An arrow marks a row that leaves the "
                + "common scale."
        )
    }

    private var price: PagePicture {
        PagePicture(
            name: "price",
            title: "Precision and its price",
            load: load,
            sentence: PageSentences.price(rows),
            note:
                "The marker is the median lateness, and the whisker ends at the 99th percentile. Rows to the right "
                + "cost more, rows further up are later. The processor time is that of all threads of the "
                + "row, handlers included."
        )
    }
}
