import Glibc
import PreciseTimer
import TestSupport
import Testing

#if Libevent
import CLibevent
#endif

/// Forked children of both kinds: from `fork`, and from `_Fork`, which runs no fork handlers.
@Suite(.waits("a fork copies one thread and all locks"), .timeLimit(.minutes(60))) struct ForkTests {
    typealias Backend = TimerService.Backend

    static let kinds: [String] = ["fork", "_Fork"].filter { (name: String) in unsafe dlsym(nil, name) != nil }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Backend.available, kinds)
    func aScheduleInAForkedChildThrows(backend: Backend, kind: String) async {
        await #expect(processExitsWith: .success) { [backend, kind] in
            Fault.endIfHung()
            let target = Log()
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) {
                $0.note($1)
            }
            #expect(eventually { target.count >= 5 })
            let code = Fork.outcome(by: kind, of: { deviationInAChild(backend.shared, timer, target) })
            #expect(code == 0)
            let before = target.count
            #expect(eventually { target.count >= before + 20 })
            let ticks = target.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted, "no tick was stolen")
        }
    }

    /// In the child, the bag's lock may be held for ever by a thread that exists only in the parent.
    @Test(arguments: kinds)
    func theParentsBagIsEmptyInAForkedChildAndTakesNoTimer(kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            Fault.endIfHung()
            let (bag, target) = (TimerBag(), Log())
            try PreciseTimer.schedule(.once(after: .seconds(3_600)), target: target) { $0.note($1) }
                .store(in: bag, named: "parent")
            let code = Fork.outcome(by: kind, of: { deviationOfABagInAChild(bag, target) })
            #expect(code == 0)
            #expect(bag.count == 1)
        }
    }

    /// The child goes on with its copy of the host's loop, which watches the timers' descriptor.
    @Test(arguments: kinds)
    func aForkedChildThatPollsDoesNotSpin(kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            Fault.endIfHung()
            let timers = try TimerService.pollable()
            let target = Log()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: timers.service, target: target) { $0.note($1) }
            let loop = { (seconds: Double) in
                let end = Reading.seconds + seconds
                while Reading.seconds < end {
                    if Poll.isReadable(timers.descriptor, within: 100) { timers.process() }
                }
            }
            for _ in 0..<200 where target.count < 5 { loop(0.1) }
            #expect(target.count >= 5)
            // The parent's timers tick at the same time.
            let before = target.count
            let child = { () -> Int32 in
                let (before, count) = (Reading.cpuSeconds, target.count)
                loop(1)
                if target.count > count { return 2 }
                return Reading.cpuSeconds - before < 0.25 ? 0 : 1
            }
            let code = Fork.outcome(by: kind, of: child, meanwhile: { loop(1.2) })
            #expect(code == 0, "\(code); 1: it spins; 2: it ticks; -14: it hangs")
            for _ in 0..<200 where target.count <= before { loop(0.1) }
            #expect(target.count > before)
            let ticks = target.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted, "no tick was stolen")
        }
    }
    #endif

    #if Libevent
    #if compiler(>=6.3)
    /// The child goes on with its copy of the host's event base, as libevent prescribes.
    @Test(arguments: kinds)
    func aForkedChildThatRunsItsEventBaseDoesNotSpin(kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            Fault.endIfHung()
            let host = HostEventBase()
            let service = try unsafe TimerService(attachedTo: host.base)
            let target = Log()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { $0.note($1) }
            let loop = { (milliseconds: Int) in
                var time = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
                _ = unsafe event_base_loopexit(host.base, &time)
                host.dispatch()
            }
            for _ in 0..<200 where target.count < 5 { loop(100) }
            #expect(target.count >= 5)
            let before = target.count
            let child = { () -> Int32 in
                _ = unsafe event_reinit(host.base)
                let (before, count) = (Reading.cpuSeconds, target.count)
                loop(1000)
                if target.count > count { return 2 }
                return Reading.cpuSeconds - before < 0.25 ? 0 : 1
            }
            let code = Fork.outcome(by: kind, of: child, meanwhile: { loop(1200) })
            #expect(code == 0, "\(code); 1: it spins; 2: it ticks; -14: it hangs")
            for _ in 0..<200 where target.count <= before { loop(100) }
            #expect(target.count > before)
            let ticks = target.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted, "no tick was stolen")
        }
    }
    #endif
    #endif
}

/// 0 if a forked child gets the promised errors, or the number of the first deviation.
private func deviationInAChild(_ service: TimerService, _ timer: PreciseTimer, _ target: Log) -> Int32 {
    do {
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: target) { $0.note($1) }
        return 1
    } catch {
        if error.code != .forked { return 2 }
    }
    if timer.cancel() { return 3 }
    guard case .ended(.backendFailed(let error)) = timer.state, error.code == .forked else { return 4 }
    return 0
}

/// 0 if the parent's bag behaves as promised in a forked child, or the number of the first deviation.
private func deviationOfABagInAChild(_ bag: TimerBag, _ target: Log) -> Int32 {
    if bag.count != 0 || bag["parent"] != nil { return 1 }
    bag.cancelAll()
    if bag.cancel("parent") { return 2 }
    weak var handle: PreciseTimer?
    do {
        // The child's own service works.
        let own = try TimerService(.timerFD)
        let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: own, target: target) { $0.note($1) }
        timer.store(in: bag)
        handle = timer
    } catch { return 3 }
    return handle == nil ? 0 : 4
}
