import Foundation
import PreciseTimer
import PreciseTimerPatterns
import Synchronization
import Testing

/// A stand-in that forwards to its target without retaining it.
struct WeakProxyTests {
    private final class Model: Sendable {
        private let stored = Atomic(1)

        var value: Int {
            get { stored.load(ordering: .relaxed) }
            set { stored.store(newValue, ordering: .relaxed) }
        }
        var double: Int { value * 2 }

        func add(_ number: Int) -> Int {
            value += number
            return value
        }

        func fail() throws(Refusal) -> Int { throw Refusal() }
    }

    private struct Refusal: Error {}

    /// Retains the objects it receives, as many older APIs do.
    private final class Keeper {
        var delegate: AnyObject?
        var callback: (() -> Void)?
    }

    @Test func readsWritesAndCallsReachTheTarget() throws {
        let model = Model()
        let proxy = WeakProxy(model)
        #expect(proxy.target === model)
        #expect(proxy.value == 1)
        proxy.value = 5
        #expect(model.value == 5)
        #expect(proxy.double == 10)
        #expect(proxy { $0.add(2) } == 7)
        #expect(model.value == 7)
    }

    @Test func settingNilLeavesANonOptionalPropertyAlone() {
        let model = Model()
        let proxy = WeakProxy(model)
        proxy.value = nil
        #expect(model.value == 1)
    }

    private final class Titled {
        var title: String? = "a title"
    }

    @Test func settingAnOptionalPropertyToNilReachesTheTarget() {
        let target = Titled()
        let proxy = WeakProxy(target)
        #expect(proxy.title == "a title")
        proxy.title = nil
        #expect(target.title == nil)
        proxy.title = "another"
        #expect(target.title == "another")
    }

    @Test func anErrorOfTheTargetIsRethrown() {
        let model = Model()
        let proxy = WeakProxy(model)
        #expect(throws: Refusal.self) { try proxy { model throws(Refusal) in try model.fail() } }
    }

    @Test func aProxyDoesNothingOnceTheTargetIsReleased() {
        let proxy = WeakProxy(Model())
        var calls = 0
        #expect(proxy.target == nil)
        #expect(proxy.value == nil)
        proxy.value = 5
        #expect(proxy.value == nil)
        #expect(proxy.double == nil)
        let result = proxy { model in
            calls += 1
            return model.value
        }
        #expect(result == nil)
        #expect(calls == 0)
    }

    @Test func anObjectThatRetainsTheProxyDoesNotRetainTheTarget() {
        let keeper = Keeper()
        weak var released: Model?
        do {
            let model = Model()
            released = model
            let proxy = WeakProxy(model)
            keeper.delegate = proxy
            keeper.callback = { proxy { _ = $0.add(1) } }
            keeper.callback?()
            #expect(model.value == 2)
        }
        #expect(released == nil)
        keeper.callback?()
        #expect((keeper.delegate as? WeakProxy<Model>)?.value == nil)
    }

    @Test func aFoundationTimerThatRetainsTheProxyDoesNotRetainTheTarget() {
        weak var released: Model?
        let timer: Timer
        do {
            let model = Model()
            released = model
            let proxy = WeakProxy(model)
            timer = Timer(fire: .distantFuture, interval: 1, repeats: true) { _ in proxy { _ = $0.add(1) } }
            timer.fire()
            #expect(model.value == 2)
        }
        #expect(timer.isValid, "it still holds its block")
        #expect(released == nil)
        timer.fire()
        timer.invalidate()
    }

    @Test func aProxyMayBeReadWhileItsTargetDies() async {
        for _ in 0..<200 {
            let proxy = await withTaskGroup { group in
                let model = Model()
                let proxy = WeakProxy(model)
                for _ in 0..<3 { group.addTask { _ = proxy { $0.add(1) } } }
                return proxy
            }
            #expect(proxy.target == nil)
        }
    }
}
