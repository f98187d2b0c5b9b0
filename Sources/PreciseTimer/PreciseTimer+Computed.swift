internal import TimerKernel

extension TimerRequest {
    /// Makes the timer of a request whose schedule has a rule.
    func start(
        _ rule: DeadlineRule,
        _ destination: Destination,
        target: AnyObject?,
        _ handler: Handler?,
        on service: TimerService
    ) throws(TimerError) -> PreciseTimer {
        let core = service.core
        let first = try rule.first(after: core.now)
        let record = Record(self, destination, target: target, handler)
        record.onDemand.extras.chain = DeadlineChain(rule, deadline: first)
        record.intercept { [weak record] tick in record.map { core.goOn($0, tick) } ?? tick }
        let watch = core.clock == .wall ? try core.watchRule(of: record) : nil
        if let watch {
            let onEnd = record.onDemand.extras.onEnd
            record.onDemand.extras.onEnd = { [weak record] reason in
                if let record { watch.remove(record) }
                onEnd?(reason)
            }
        }
        do throws(TimerError) {
            let instant = TimerInstant(nanoseconds: first, clock: core.clock)
            return try core.admit(record, .once(at: instant), service)
        } catch {
            watch?.remove(record)
            throw error
        }
    }
}
