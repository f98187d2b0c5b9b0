// swift-tools-version: 6.2

import Foundation
import PackageDescription

// The only look at the machine. SwiftPM remembers the answer: after libevent-dev has come or gone, `swift package
// purge-cache` and `swift package clean` make it look again.
let prefixes = ["/usr", "/usr/local"]
let hasLibevent = prefixes.contains { FileManager.default.fileExists(atPath: "\($0)/include/event2/event.h") }

/// A library of the target of the same name.
func library(_ name: String) -> Product { .library(name: name, targets: [name]) }

/// Another package's product. SwiftPM resolves the package only if the trait is enabled.
func product(_ name: String, _ package: String, if trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let arguments = product("ArgumentParser", "swift-argument-parser", if: "Instrument")
let libevent: Target.Dependency = .target(name: "CLibevent", condition: .when(traits: ["Libevent"]))
let lifecycle = product("ServiceLifecycle", "swift-service-lifecycle", if: "ServiceLifecycle")
let logging = product("Logging", "swift-log", if: "Logging")
let metrics = product("CoreMetrics", "swift-metrics", if: "Metrics")

/// What the tests of the library use.
let tested: [Target.Dependency] = [
    "PreciseTimer", "PreciseTimerExecutor", "PreciseTimerFoundation", "PreciseTimerPatterns", "PreciseTimerTestKit",
    "TimerAlarms", "TimerKernel", "TestSupport",
]

/// The language's strictest mode.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "precise-timer",
    products: [
        library("PreciseTimer"), library("PreciseTimerPatterns"), library("PreciseTimerTestKit"),
        library("PreciseTimerExecutor"), library("PreciseTimerFoundation"), library("PreciseTimerMetrics"),
        library("PreciseTimerLogging"),
        library("PreciseTimerLifecycle"), library("BackendComparison"), library("CLibevent"),
        .executable(name: "compare-backends", targets: ["compare-backends"]),
    ],
    traits: [
        .trait(name: "Libevent", description: "The libevent backend; needs libevent's headers."),
        .trait(name: "RunLoop", description: "The run loop backend; links Foundation."),
        .trait(name: "Instrument", description: "The command compare-backends.", enabledTraits: ["RunLoop"]),
        .trait(name: "Metrics", description: "The adapter to swift-metrics."),
        .trait(name: "Logging", description: "The adapter to swift-log."),
        .trait(name: "ServiceLifecycle", description: "The adapter to swift-service-lifecycle."),
        .default(enabledTraits: Set(["RunLoop", "Instrument"] + (hasLibevent ? ["Libevent"] : []))),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "CTimerKernel", path: "CShims/CTimerKernel"),
        .systemLibrary(
            name: "CLibevent",
            path: "CShims/CLibevent",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"])]
        ),
        .target(name: "TimerKernel", dependencies: ["CTimerKernel"]),
        .target(name: "TimerAlarms", dependencies: ["TimerKernel", "CTimerKernel", libevent]),
        .target(name: "PreciseTimer", dependencies: ["TimerKernel", "TimerAlarms"]),
        .target(name: "PreciseTimerPatterns", dependencies: ["PreciseTimer", "TimerKernel"]),
        .target(name: "PreciseTimerExecutor", dependencies: ["PreciseTimer", "TimerKernel"]),
        .target(
            name: "PreciseTimerTestKit",
            dependencies: ["PreciseTimer", "PreciseTimerExecutor", "TimerAlarms", "TimerKernel"]
        ),
        .target(name: "PreciseTimerFoundation", dependencies: ["PreciseTimer", "TimerKernel"]),
        .target(name: "PreciseTimerMetrics", dependencies: ["PreciseTimer", metrics]),
        .target(name: "PreciseTimerLogging", dependencies: ["PreciseTimer", logging]),
        .target(
            name: "PreciseTimerLifecycle",
            dependencies: [
                "PreciseTimer", "TimerKernel", lifecycle, product("Logging", "swift-log", if: "ServiceLifecycle"),
            ]
        ),
        .target(
            name: "BackendComparison",
            dependencies: ["PreciseTimer", "PreciseTimerExecutor", "TimerKernel", "CTimerKernel"],
            resources: [.embedInCode("Report/Resources/page.css")]
        ),
        .executableTarget(
            name: "compare-backends",
            dependencies: ["BackendComparison", "PreciseTimer", "TimerKernel", "CTimerKernel", arguments]
        ),

        .target(
            name: "TestSupport",
            dependencies: [
                "PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel", "CTimerKernel", libevent,
            ],
            path: "Tests/TestSupport"
        ),
        .executableTarget(name: "fault-probe", dependencies: tested, path: "Tests/FaultProbe"),
        .executableTarget(name: "timer-soak", dependencies: tested + [arguments], path: "Tests/Soak"),
        .target(
            name: "FuzzChecks",
            dependencies: ["PreciseTimer", "BackendComparison", "PreciseTimerTestKit"],
            path: "Tests/Fuzz/Checks"
        ),
        .testTarget(name: "ClockStepTests", dependencies: tested),
        .testTarget(name: "ConcurrencyTests", dependencies: tested),
        .testTarget(name: "ExecutorTests", dependencies: tested),
        .testTarget(name: "FaultTests", dependencies: tested + ["fault-probe", libevent], exclude: ["refuse.c"]),
        .testTarget(name: "ModelTests", dependencies: tested),
        .testTarget(name: "PreciseTimerTests", dependencies: tested),
        .testTarget(name: "PreciseTimerPatternsTests", dependencies: tested),
        .testTarget(name: "PreciseTimerTestKitTests", dependencies: tested),
        .testTarget(name: "Swift5Tests", dependencies: tested, swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(name: "TimerCoreTests", dependencies: tested),
        .testTarget(
            name: "AdapterTests",
            dependencies: tested + [
                "PreciseTimerMetrics", metrics, product("MetricsTestKit", "swift-metrics", if: "Metrics"),
                "PreciseTimerLogging", logging, product("InMemoryLogging", "swift-log", if: "Logging"),
                "PreciseTimerLifecycle", lifecycle,
                product("ServiceLifecycleTestKit", "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]
        ),
        .testTarget(name: "BackendComparisonTests", dependencies: tested + ["BackendComparison"]),
        .testTarget(name: "CompareBackendsTests", dependencies: tested + ["compare-backends", "BackendComparison"]),
        .testTarget(name: "FuzzTests", dependencies: tested + ["FuzzChecks"]),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = target.swiftSettings ?? settings
}
// In a release build the library is optimized, and of its tests those that search. The others take longer to optimize
// than to run.
let searching = ["ConcurrencyTests", "ModelTests", "TimerCoreTests"]
for target in package.targets where target.type == .test && !searching.contains(target.name) {
    target.swiftSettings? += [.unsafeFlags(["-Onone"], .when(configuration: .release))]
}
