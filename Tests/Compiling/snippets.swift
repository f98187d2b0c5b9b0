// The names that the snippets of the documentation use without declaring them. .ci/snippets compiles the snippets with
// this file. An extension of README_md, or of another file of snippets, declares names for that file alone.
import Dispatch
import Foundation
import Logging
import PreciseTimer
import PreciseTimerTestKit
import ServiceLifecycle

/// The "…" of a snippet.
func elided() {}

final class Model: Sendable {
    func refresh() {}
    func refresh(with info: String) {}
    func resynchronise() {}
    func save() {}
    func stop() {}
    func present(frame: Int) {}
    func step() {}
    func step(_ tick: PreciseTimer.Tick) {}
    func step(missed: Int) {}
    func step(milliseconds: Int) {}
    var title: String { "" }
    var refreshes: Int { 0 }
}

final class Connection: Sendable {
    var id: Int { 7 }
    func close() {}
    func ping() {}
    func ask() async throws -> String { "" }
}

@MainActor final class Game {
    nonisolated init() {}
    var frame = 0
    func simulate() {}
    func draw() {}
}

/// An alarm of the reader's.
final class MyAlarm: TimerAlarm {
    init() throws {}
    var now: TimerInstant { TimerClock.suspending.now }
    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {}
    func set(_ deadline: TimerInstant?) {}
    func stop() {}
}

/// An API that retains its callback.
final class Legacy {
    var callback: (() -> Void)?
}

let (model, controller, loop) = (Model(), Model(), Model())
let (connection, peer) = (Connection(), Connection())
nonisolated(unsafe) let legacy = Legacy()
let info = ""
let queue = DispatchQueue(label: "snippets")
let service = TimerService.default
let virtual = VirtualTime()
let logger = Logger(label: "snippets")

struct RequestError: Error {}

func request() async throws(RequestError) -> String { "" }
func log(_ value: Any) {}
func step(missed: Int) async {}

/// A server that closes its idle connections.
final class Server: Sendable {
    func close(_ id: Int) {}
    func release() async {}
    func renew() async throws {}
}

extension HowToBeOnTime_md {
    struct Bus {
        func nanoseconds(at instant: TimerInstant) -> Double { 0 }
    }

    static let bus = Bus()
}

/// That of the recipe.
actor Limiter {
    init(_ limit: Int) {}
    func run<Value: Sendable>(atMost: Duration, _ call: @Sendable () async throws -> Value) async throws -> Value {
        try await call()
    }
}

/// An actor that scrapes addresses.
actor Scraper {
    private(set) var isClosing = false
    func close() { isClosing = true }
    func scrape(_ address: String) async throws {}
}

extension WithTimeout_swift {
    static let url = URL(fileURLWithPath: "/")
}

extension Recipes_md {
    static let game = Game()
    static let server = Server()
    static let (scraper, addresses) = (Scraper(), [""])
}

extension IdleTimeouts_swift {
    struct Connection {
        typealias ID = Int
    }

    static let server = Server()
    static let id = 7
}

extension Dates_swift {
    final class Bell: Sendable {
        func ring() {}
    }

    static let bell = Bell()
    static let date = Date()
}

extension TimerService_Clocks_swift {
    enum Calendar {
        static func recompute(after step: Duration) {}
    }

    static let calendar = Calendar.self
}

extension TimerShutdown_swift {
    final class Cache: Sendable {
        func expire() {}
    }

    struct Server: Service {
        func run() {}
    }

    static let cache = Cache()
    static let server = Server()
}

extension PeriodicService_swift {
    final class Cache: Sendable {
        func refresh() async throws {}
    }

    struct Files {
        func rotate(at deadline: TimerInstant) async throws {}
    }

    static let (cache, files, server) = (Cache(), Files(), TimerShutdown_swift.server)
}

extension Embedding_md {
    static let socket: CInt = 0
    static func receive() {}
}

extension README_md { static let player = Game() }

extension Documentation_README_md {
    final class Door: Sendable { var isOpen: Bool { true } }

    static let (player, server, door) = (Game(), Server(), Door())
}
