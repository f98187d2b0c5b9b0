import AsyncAlgorithms
import PreciseTimer
import Testing

/// The operators of swift-async-algorithms that the guides name: each lets the errors of both sequences through.
struct OperatorTests {
    private struct Broken: Error {}

    enum Operator: CaseIterable { case merge, combineLatest, zip, chain }

    /// The error that ends two sequences together.
    private func error(
        of kind: Operator,
        _ first: some AsyncSequence<Int, any Error> & Sendable,
        _ second: some AsyncSequence<Int, any Error> & Sendable
    ) async -> (any Error)? {
        switch kind {
        case .merge: await error(of: merge(first, second))
        case .combineLatest: await error(of: combineLatest(first, second))
        case .zip: await error(of: zip(first, second))
        case .chain: await error(of: chain(first, second))
        }
    }

    private func error(of sequence: some AsyncSequence) async -> (any Error)? {
        do { for try await _ in sequence {} } catch { return error }
        return nil
    }

    private func ticks(on service: TimerService = .default) -> some AsyncSequence<Int, any Error> & Sendable {
        PreciseTimer.ticks(.every(.milliseconds(1), count: 3), on: service).map { $0.index }
    }

    /// A sequence of numbers that ends with an error or, without one, does not end.
    private func numbers(_ failure: (any Error)?) -> some AsyncSequence<Int, any Error> & Sendable {
        AsyncThrowingStream<Int, any Error> { numbers in
            numbers.yield(1)
            if let failure { numbers.finish(throwing: failure) }
        }
    }

    @Test(arguments: Operator.allCases)
    func theErrorOfTheOtherSequenceComesThroughBesideTicks(_ kind: Operator) async {
        #expect(await error(of: kind, ticks(), numbers(Broken())) is Broken)
    }

    @Test(arguments: Operator.allCases)
    func theErrorOfTicksComesThroughInFrontOfAnother(_ kind: Operator) async throws {
        let service = try TimerService(.timerFD)
        service.shutdown()
        #expect(await error(of: kind, ticks(on: service), numbers(nil)) is TimerError)
    }

    @Test(arguments: Operator.allCases.filter { $0 != .chain })
    func theErrorOfTicksComesThroughBehindASequenceThatMayThrow(_ kind: Operator) async throws {
        let service = try TimerService(.timerFD)
        service.shutdown()
        #expect(await error(of: kind, numbers(nil), ticks(on: service)) is TimerError)
    }
}
