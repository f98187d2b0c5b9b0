/// The words of the page, explained.
enum PageGuide {
    private static let words = [
        ("Lateness", "The time from a deadline to the first line of the handler."),
        ("p50, p99", "Half of the deadlines, or 99 of 100, were served within this time."),
        (
            "CPU",
            "The processor time of all threads of a row, handlers included, as a share of one core."
        ),
        (
            "Missed",
            "Deadlines that got no tick of their own, because the tick before them came too late. All of the page "
                + "counts them: they are late until the tick that carried them. Only the lateness and jitter in \"All "
                + "figures\" are those of the ticks alone."
        ),
        (
            "Backend, peer, floor",
            "A backend is a mechanism of the library. A peer does the same work without the library. A floor is a "
                + "bare loop of system calls: how early this machine can be."
        ),
        (
            "Later, earlier, same",
            "In each lap every row has one turn, in random order, and p50 is compared lap by lap. The interval in "
                + "brackets holds the true ratio in 99 of 100 measurements. If it holds 1, the two rows are the same. "
                + "p95 is compared in groups of a hundred deadlines."
        ),
        (
            "Earliest, cannot be told apart",
            "A backend is earliest if every other backend is shown to be later than some backend. If this run cannot "
                + "tell backends apart, a longer run may. Backends share the lead if one is earlier in the middle, and "
                + "another in the tail."
        ),
        ("Drift", "1 ppm is 1 µs of additional lateness in a second. A slope below its noise was not seen."),
    ]

    static let html =
        "<dl>\n"
        + words.map { "<dt>\(PageText.escaped($0))</dt><dd>\(PageText.escaped($1))</dd>\n" }.joined() + "</dl>"
}
