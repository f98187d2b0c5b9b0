// swift-format-ignore-file
// Calls of the products behind traits. With the traits they compile: .ci/first-guesses. Without, the compiler refuses
// each line that ends with the name of a trait, in words that name it: .ci/consumer/check.
import PreciseTimer
import PreciseTimerLifecycle
import PreciseTimerLogging
import PreciseTimerMetrics
#if canImport(Logging)
import CoreMetrics
import Logging
let (logger, factory) = (Logger(label: "guesses"), NOOPMetricsHandler.instance)
#else
let (logger, factory) = (0, 0)
#endif

let service = TimerService.default
let metrics = try TimerMetrics(of: service)  // Metrics
let named = try TimerMetrics(of: service, name: "app", service: "cache")  // Metrics
let often = try TimerMetrics(of: service, every: .seconds(1), factory: factory, on: .dispatch)  // Metrics
let log = try TimerLog(of: service, to: logger)  // Logging
let quiet = try TimerLog(of: service, to: logger, service: "cache", at: .debug, every: .seconds(1))  // Logging
let shutdown = TimerShutdown(of: TimerBag(), lastTick: true, within: .seconds(5))  // ServiceLifecycle
let every = PeriodicService(every: .seconds(30), firstRun: .atStart, label: "a", logger: logger) {  // ServiceLifecycle
    print("refreshed")
}
let lasting = PeriodicService(every: .seconds(30), tolerance: .seconds(1), onError: { throw $0 }) {  // ServiceLifecycle
    try await Task.sleep(for: .seconds(1))
}
let nightly = PeriodicService(.every(.seconds(9)), missedTicks: .catchUp(limit: 10)) { tick in  // ServiceLifecycle
    print(tick)
}
