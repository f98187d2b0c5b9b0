/// What was measured under one load: its pictures, its table and its pairs.
struct PageLoad {
    let report: Report
    let data: PageData
    let load: String

    private var rows: [RowReport] { report.rows.filter { $0.case.load == load } }
    private var entries: [PageData.Entry] { data.entries.filter { $0.load == load } }
    private var pairs: [PairReport] { report.pairs.filter { $0.first.load == load } }

    var html: String {
        let table = PageTables(rows: rows, pairs: pairs, load: load)
        return """
            <section class="load" data-load="\(PageText.escaped(load))" aria-label="\(PageText.escaped(heading))">
            <h2>\(PageText.escaped(heading))</h2>
            \(figures.map(\.html).joined(separator: "\n"))
            \(table.results)
            \(table.comparisons)
            \(table.details)
            </section>
            """
    }

    private var heading: String { load == Case.idle ? "Nothing else going on (idle)" : "Under the load \(load)" }

    private var figures: [PageFigure] { [curves, time, drift, price] }

    private var curves: PageFigure {
        PageFigure(
            picture: "curves",
            title: "How late, for what share of the ticks",
            load: load,
            sentence: PageSentences.curves(rows),
            note:
                "A tick that carries missed deadlines counts once among the ticks, and once for every one of them among "
                + "the deadlines: that corrects for coordinated omission. Solid: backends, dashed: peers, dotted: "
                + "references. The thinner, fainter lines are the deadlines’.",
            controls: """
                <div class="choice" role="group" aria-label="What is counted">\
                <button type="button" data-curve="ticks">ticks</button>\
                <button type="button" data-curve="deadlines">deadlines</button>\
                <button type="button" data-curve="both">both</button></div>
                """
        )
    }

    private var time: PageFigure {
        PageFigure(
            picture: "time",
            title: "Lateness as time went on",
            load: load,
            sentence: PageSentences.time(entries, data.rounds),
            note: "For every stretch of time the dot is the median, and the hair above it ends at the latest tick. "
                + "Rounds are numbered; those that were disturbed from outside are shaded. They count all the same."
        )
    }

    private var drift: PageFigure {
        PageFigure(
            picture: "drift",
            title: "Drift: where ten seconds would lead",
            load: load,
            sentence: PageSentences.drift(rows),
            note:
                "The slope of the lateness, drawn on: 1 ppm is 1 µs per second. The band is ± three standard errors; as "
                + "long as it holds the zero line, no drift was seen. An arrow marks what leaves the common scale."
        )
    }

    private var price: PageFigure {
        PageFigure(
            picture: "price",
            title: "Precision and its price",
            load: load,
            sentence: PageSentences.price(rows),
            note:
                "The marker is the median lateness, the whisker ends at the 99th percentile; to the right costs more, "
                + "further up is later. The processor’s time is that of all threads of the row, its handlers included."
        )
    }
}
