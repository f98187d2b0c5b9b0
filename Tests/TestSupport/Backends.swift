package import PreciseTimer

extension TimerService.Backend {
    /// The backends of this build; every promise is tested on each.
    package static var available: [TimerService.Backend] { allCases.filter { $0.availability == .available } }

    /// The shared service of a backend.
    package var shared: TimerService {
        switch self {
        case .dispatch: .dispatch
        case .timerFD: .timerFD
        case .libevent: .libevent
        case .runLoop: .runLoop
        case .hybrid: .hybrid
        @unknown default: .default
        }
    }
}
