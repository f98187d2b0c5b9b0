import PreciseTimer
import TestSupport
import Testing

/// A package trait adds a backend; without its trait, the backend is reported as unavailable and refuses to start.
struct AvailabilityTests {
    typealias Backend = TimerService.Backend

    /// The backends that this build leaves out, and their traits.
    private static let missing: [Backend: String] = {
        var missing: [Backend: String] = [:]
        #if !Libevent
        missing[.libevent] = "Libevent"
        #endif
        #if !RunLoop
        missing[.runLoop] = "RunLoop"
        #endif
        return missing
    }()

    @Test(arguments: Backend.allCases)
    func aBackendIsUnavailableOnlyWithoutItsTrait(backend: Backend) throws {
        guard let trait = Self.missing[backend] else {
            #expect(backend.availability == .available)
            return
        }
        let reason = "this build of PreciseTimer has the package trait \(trait) disabled"
        #expect(backend.availability == .unavailable(reason))
        let error = #expect(throws: TimerError.self) { try TimerService(backend) }
        #expect(error?.code == .unavailable)
        #expect(error?.attempted.contains("trait \(trait)") == true)
    }

    @Test(arguments: missing.keys)
    func aTimerOnTheSharedServiceOfAMissingBackendIsRefused(backend: Backend) {
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.once(after: .zero), on: backend.shared) { _, _ in }.cancel()
        }
        #expect(error?.code == .unavailable)
    }
}
