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

    private final class Titled {
        var title: String? = "a title"
    }

    @Test func readsWritesAndCallsReachTheTarget() throws {
        let model = Model()
        let proxy = WeakProxy(model)
        #expect(proxy.target === model)
        #expect(proxy.value == 1)
        proxy.value = 5
        let (written, read, returned) = (model.value, proxy.double, proxy { $0.add(2) })
        #expect([written, read, returned, model.value] == [5, 10, 7, 7])
        #expect(throws: Refusal.self) { try proxy { model throws(Refusal) in try model.fail() } }
    }

    @Test func settingNilReachesAnOptionalPropertyOnly() {
        let (model, titled) = (Model(), Titled())
        WeakProxy(model).value = nil
        #expect(model.value == 1)
        let proxy = WeakProxy(titled)
        var titles = [proxy.title]
        for title in [nil, "another"] {
            proxy.title = title
            titles.append(titled.title)
        }
        #expect(titles == ["a title", nil, "another"])
    }

    @Test func aProxyRetainsNothingAndDoesNothingOnceTheTargetIsReleased() async {
        let proxy = WeakProxy(Model())
        var calls = 0
        proxy.value = 5
        let result = proxy { model in
            calls += 1
            return model.value
        }
        #expect(proxy.target == nil && calls == 0)
        #expect([proxy.value, proxy.double, result] == [nil, nil, nil])
        #expect(WeakProxy(Titled()).title == nil)
        #expect(await Task { proxy.value }.value == nil, "it is Sendable if its target is")
    }
}
