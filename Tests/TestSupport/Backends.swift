public import PreciseTimer

extension TimerService.Backend {
    /// The backends of this build: what every promise is tested on.
    public static var available: [TimerService.Backend] { allCases.filter { $0.availability == .available } }
}
