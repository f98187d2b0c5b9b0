internal import ArgumentParser
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// Says what limits precision on this machine.
struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say what limits the precision of timers here, and what to do about it.",
        discussion: """
            Looks at the clock, the processors, the kernel and the rights of this process. It changes nothing, and \
            takes less than a second. Run it as the user, and in the container, that your program has.

            Each finding is one of these:
              good     there is nothing to improve
              usual    as on most machines; one set up for real-time work is better
              limits   timers are later because of it
              unknown  the kernel does not show it here

            The exit code is 0 whatever it finds.
            """
    )

    func run() throws {
        var console = Console()
        let diagnosis = Diagnosis(of: .current)
        try console.print(
            DiagnosisTable(diagnosis, width: console.width, inColour: console.hasColour).description
        )
    }
}
