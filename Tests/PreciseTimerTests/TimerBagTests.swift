import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The timers that a bag holds, and when it removes them.
struct TimerBagTests {
    private let scene = Scene()
    private let bag = TimerBag()

    /// A timer that lives while its handle is held.
    private func timer(_ schedule: PreciseTimer.Schedule = .every(.seconds(1))) throws -> PreciseTimer {
        try scene.handle(schedule) { _, _ in }
    }

    @Test func aNameTakenAgainCancelsItsFormerHolderUnlessItIsTheSame() throws {
        enum Part { case head, tail }
        let text: String? = "7"
        let number = try timer().store(in: bag, named: 7)
        let part = try timer().store(in: bag, named: Part.head)
        let optional = try timer().store(in: bag, named: text)
        #expect(bag[7] === number && bag[Part.head] === part && bag["7"] === optional, "any hashable value is a name")
        #expect(bag[8] == nil && bag[Part.tail] == nil)
        let next = try timer().store(in: bag, named: 7).store(in: bag, named: 7)
        #expect([number, part, next].map(\.state) == [.ended(.cancelled), .scheduled, .scheduled])
        #expect(bag[7] === next && bag.count == 3)
    }

    /// A name that reports its release.
    private final class Name: Hashable, Sendable {
        let number: Int
        let thing: Thing

        init(_ number: Int, _ thing: Thing) { (self.number, self.thing) = (number, thing) }

        static func == (left: Name, right: Name) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    /// A name's `deinit` may use the bag, so no name is released under its lock.
    @Test func namesAreReleasedOutsideTheLock() throws {
        let (box, releases) = (Box<TimerBag>(), Count())
        box.value = TimerBag()
        let name = { (number: Int) in Name(number, Thing { releases.add(1 + 0 * (box.value?.count ?? 0)) }) }
        for number in 0..<64 {
            let bag = try #require(box.value)
            try timer(.once(after: .seconds(1))).store(in: bag, named: name(number % 32))
            if number % 8 == 7 { scene.advance(1_000) }
        }
        for _ in 1...2 { try timer().store(in: try #require(box.value), named: name(64)) }
        for number in [3, 64] { box.value?.cancel(name(number)) }
        box.value?.cancelAll()
        #expect(releases.value == 64 + 2 + 2)
        box.value = nil
    }

    @Test func cancellingEndsTheTimerOfThatNameOrAllAndTheBagGoesOn() throws {
        let blink = try timer().store(in: bag, named: "blink")
        let others = [try timer().store(in: bag, named: "other"), try timer().store(in: bag)]
        #expect(bag.cancel("blink") && blink.state == .ended(.cancelled))
        #expect(others.map(\.state) == [.scheduled, .scheduled] && bag.count == 2)
        #expect([bag.cancel("blink"), bag.cancel("nobody")] == [false, false], "the name is free")
        try timer(.once(after: .seconds(1))).store(in: bag, named: "hint")
        scene.advance(1_000)
        #expect(bag["hint"] == nil && bag.count == 2 && !bag.cancel("hint"), "it had ended by itself")
        bag.cancelAll()
        #expect(others.map(\.state) == [.ended(.cancelled), .ended(.cancelled)])
        #expect(bag.count == 0 && bag["other"] == nil)
        try timer().store(in: bag)
        #expect([bag.count, scene.virtual.pendingCount] == [1, 1])
    }

    @Test func waitingForOneHandlerKeepsNoOtherTimerOfTheBag() async throws {
        let (bag, log, isRunning, mayReturn) = (bag, scene.log, Gate(), Gate())
        let first = try PreciseTimer.schedule(.once(after: .zero), target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        let second = try PreciseTimer.schedule(.every(.seconds(3_600)), target: log) { $0.note($1) }
        await isRunning.pass()
        first.store(in: bag)
        second.store(in: bag)
        let waiting = Task { await bag.cancelAllAndWait() }
        #expect(await soon { second.state == .ended(.cancelled) })
        mayReturn.open()
        await waiting.value
    }

    /// Also a timer that would outlive its handle.
    @Test func aReleasedBagCancelsItsTimers() throws {
        let box = Box<TimerBag>()
        box.value = TimerBag()
        let timers = [try timer(), try scene.timer(.every(.seconds(1)))]
        for (timer, name) in zip(timers, [nil, "blink"]) { timer.store(in: try #require(box.value), named: name) }
        scene.advance(1_000)
        box.value = nil
        #expect(timers.map(\.state) == [.ended(.cancelled), .ended(.cancelled)])
        let timer = try scene.handle(.every(.seconds(1))) { _, _ in box.value = nil }
        box.value = TimerBag()
        timer.store(in: try #require(box.value))
        scene.advance(2_000)
        #expect(timer.state == .ended(.cancelled) && scene.log.count == 3, "its handler may release the bag")
    }

    @Test func endedTimersAreRemovedWhileOthersStay() throws {
        let kept = [try timer().store(in: bag), try timer().store(in: bag, named: "kept")]
        for number in 0..<5_000 {
            for name in [nil, "\(number)"] { try timer(.once(after: .zero)).store(in: bag, named: name) }
            scene.advance(0)
        }
        #expect(kept.map(\.state) == [.scheduled, .scheduled] && bag.count == 2)
        let size = try #require("\(bag)".split(separator: " ").compactMap { Int($0) }.first)
        #expect(size <= 17)
    }

    /// Each clean-up reads the state of all timers. It comes only when the bag has doubled, and ends no timer.
    @Test func aFullBagLetsEndedTimersGoOnlyWhenItHasDoubled() throws {
        var target: Thing? = Thing()
        let service = scene.virtual.service
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: try #require(target)) { _, _ in }
            .store(in: bag)
        for _ in 0..<15 { try timer().store(in: bag) }
        target = nil
        for count in 17...31 {
            try timer().store(in: bag)
            #expect("\(bag)" == "bag of \(count) timers", "the timer without a target was not read")
        }
        try timer().store(in: bag)
        #expect("\(bag)" == "bag of 31 timers")
        #expect(scene.virtual.pendingCount == 32)
    }

    @Test func threadsThatShareABagLoseNoTimerAndLeaveNoneBehind() throws {
        let (bag, service, failures) = (bag, scene.virtual.service, Notes<String>())
        try onThreads(4) { thread in
            for round in 0..<500 {
                do {
                    try PreciseTimer.schedule(.every(.seconds(1)), on: service) {}.store(in: bag, named: "\(round % 8)")
                    let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: service) {}.store(in: bag)
                    if round % 2 == thread % 2 { timer.cancel() }
                } catch { failures.append("\(error)") }
            }
        }
        #expect(failures.all == [])
        let left = 8 + 4 * 250
        #expect([bag.count, service.pendingCount] == [left, left], "one for each name, and the others not cancelled")
        bag.cancelAll()
        #expect(service.pendingCount == 0)
    }
}
