import BackendComparison
import Foundation
import PreciseTimer
import Synchronization
import TestSupport
import Testing

/// A comparison that a program asks for: it is the command's.
@Suite(.works("a comparison measures this machine")) struct BackendComparisonTests {
    private static let backends: [TimerService.Backend] = [.hybrid, .timerFD, .dispatch]

    /// A comparison that was measured once, for all tests that only read it.
    private static let measured = Task {
        try await compareBackends(backends, period: .milliseconds(1), for: .seconds(2))
    }

    @Test func eachBackendHasARowWithItsFigures() async throws {
        let comparison = try await Self.measured.value
        #expect(comparison.isComplete && comparison.rows.map(\.backend) == Self.backends)
        for row in comparison.rows {
            // Eight laps of 20 deadlines are the fewest with ranges. The range of a p99 takes 800 deadlines.
            #expect(row.deadlines >= 160 && row.p50 > .zero && row.p50 <= row.p99)
            #expect(row.p99Range.map { $0.contains(row.p99) } ?? (row.deadlines < 800))
            #expect((0...1).contains(row.missed) && (0..<8).contains(row.cpu) && row.drift != nil)
        }
        let (first, none) = (comparison.first { $0.p99 < .seconds(60) }, comparison.first { $0.cpu < 0 })
        #expect(first == .hybrid && none == nil)
    }

    @Test func itsTextAndItsFileAreThoseOfTheCommand() async throws {
        let comparison = try await Self.measured.value
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("out.json").path
        let data = try JSONEncoder().encode(comparison)
        try data.write(to: URL(fileURLWithPath: path))
        let shown = try await Command.run(["show", path])
        #expect(shown.output == "\(comparison)\n" && shown.complaint.isEmpty)
        let lines = "\(comparison)".split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("hybrid ") || $0.hasPrefix("timerfd ") || $0.hasPrefix("dispatch ") } >= 3)
        let flowing = lines.joined(separator: " ")
        #expect(comparison.sentences.allSatisfy { flowing.contains($0) } && !comparison.sentences.isEmpty)
        #expect(try JSONDecoder().decode(BackendComparison.self, from: data) == comparison)
    }

    @Test func aFileOfTheCommandIsAComparison() async throws {
        let rows = ["--rows", "bare,timerfd,timerfd,hybrid", "--load", "idle,handler:1us"]
        let text = try await Command.run(["--laps", "9", "--quiet"] + rows + Command.json).output
        let comparison = try JSONDecoder().decode(BackendComparison.self, from: Data(text.utf8))
        #expect(comparison.rows.map(\.backend) == [.timerFD, .hybrid], "of the first load, and without bare")
        for (part, other) in [("\"schema\":4", "\"schema\":3"), ("\"median_ns\"", "\"a\"")] {
            let wrong = Data(text.replacing(part, with: other).utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(BackendComparison.self, from: wrong) }
        }
    }

    @Test func whatMakesNoSenseIsRefused() async {
        func code(_ backends: [TimerService.Backend], _ period: Duration, _ time: Duration) async -> TimerError.Code? {
            do throws(TimerError) {
                _ = try await compareBackends(backends, period: period, for: time)
                return nil
            } catch {
                #expect(error.description.hasPrefix("comparing "))
                return error.code
            }
        }
        #expect(await code([], .milliseconds(1), .seconds(1)) == .invalidOption)
        for wrong in [Duration.zero, .seconds(-1), .seconds(1_000_000)] {
            #expect(await code([.timerFD], wrong, .seconds(1)) == .invalidOption, "\(wrong)")
            #expect(await code([.timerFD], .milliseconds(1), wrong) == .invalidOption, "\(wrong)")
        }
        for backend in TimerService.Backend.allCases where backend.availability != .available {
            #expect(await code([.timerFD, backend], .milliseconds(1), .seconds(1)) == .unavailable)
        }
        #expect(BackendComparison.availableBackends.first == .timerFD)
    }

    /// Its end is awaited, so nothing of it runs on.
    @Test func aCancelledComparisonHasWhatWasMeasured() async throws {
        let places = Mutex<[Duration]>([])
        let hasBegun = Atomic(false)
        let comparing = Task {
            try await compareBackends([.timerFD, .dispatch], for: .seconds(3_600)) { progress in
                #expect(progress.elapsed <= progress.total && "\(progress)".contains(progress.backend))
                places.withLock { $0.append(progress.elapsed) }
                if "\(progress)".contains("lap 2:") { hasBegun.store(true, ordering: .relaxed) }
            }
        }
        while !hasBegun.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
        // This one waits for its turn.
        let waiting = Task { try await compareBackends([.timerFD], for: .seconds(1)) }
        waiting.cancel()
        await #expect(throws: TimerError(.cancelled, "comparing backends")) { try await waiting.value }
        comparing.cancel()
        let comparison = try await comparing.value
        #expect(!comparison.isComplete && !comparison.rows.isEmpty)
        #expect(comparison.warnings.contains { $0.hasPrefix("stopped after ") })
        #expect("\(comparison)".contains("PARTIAL: stopped after"))
        #expect(places.withLock { $0 == $0.sorted() })
    }
}
