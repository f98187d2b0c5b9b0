// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that users of the library do not get the examples' dependencies.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A product of the library.
func ours(_ name: String) -> Target.Dependency { .product(name: name, package: "precise-timer") }

let lifecycle = "swift-service-lifecycle"

/// The programs, each with its dependencies besides PreciseTimer. `make examples` runs each folder with a @main.
let programs: KeyValuePairs<String, [Target.Dependency]> = [
    "AsyncLoop": [ours("PreciseTimerPatterns")],
    "AsyncSequences": [.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")],
    "Comparing": [ours("BackendComparison")],
    "ControlActor": [ours("PreciseTimerExecutor")],
    "ControlLoop": [],
    "GameLoop": [],
    "GracefulShutdown": [
        ours("PreciseTimerLifecycle"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: lifecycle),
        .product(name: "UnixSignals", package: lifecycle),
    ],
    "Heartbeats": [],
    "LibeventLoop": [ours("CLibevent")],
    "Media": [],
    "NIOEventLoop": [
        ours("PreciseTimerTestKit"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
    ],
    "Observability": [
        ours("PreciseTimerLogging"), ours("PreciseTimerMetrics"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
    ],
    "NightlyJob": [ours("PreciseTimerFoundation"), ours("PreciseTimerTestKit")],
    "PollLoop": [ours("PreciseTimerExecutor")],
    "Poller": [],
    "Retry": [ours("PreciseTimerPatterns")],
    "Server": [ours("PreciseTimerPatterns")],
    "ServicePerCore": [],
    "Timeouts": [ours("PreciseTimerPatterns")],
    "ViewModel": [],
    "WallClock": [ours("PreciseTimerFoundation"), ours("PreciseTimerTestKit")],
]

let package = Package(
    name: "precise-timer-examples",
    // For a C program, which needs no more of Swift than this one file.
    products: [.library(name: "Ticks", type: .dynamic, targets: ["Ticks"])],
    dependencies: [
        .package(
            name: "precise-timer",
            path: "..",
            traits: ["Libevent", "RunLoop", "Metrics", "Logging", "ServiceLifecycle"]
        ),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/\(lifecycle)", from: "2.13.0"),
    ],
    targets: [
        .target(name: "ExampleSupport", dependencies: [ours("PreciseTimer")], swiftSettings: settings),
        .target(
            name: "Ticks",
            dependencies: [ours("PreciseTimer"), ours("PreciseTimerExecutor")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RecipeTests",
            dependencies: [
                ours("PreciseTimer"), ours("PreciseTimerExecutor"), ours("PreciseTimerFoundation"),
                ours("PreciseTimerPatterns"), ours("PreciseTimerTestKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "AlternativesTests",
            dependencies: [
                ours("CLibevent"), ours("PreciseTimer"), ours("PreciseTimerPatterns"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "VirtualTimeTests",
            dependencies: [ours("PreciseTimer"), ours("PreciseTimerPatterns"), ours("PreciseTimerTestKit")],
            swiftSettings: settings
        ),
    ]
        + programs.map { name, others in
            .executableTarget(
                name: name,
                dependencies: [ours("PreciseTimer"), "ExampleSupport"] + others,
                swiftSettings: settings
            )
        }
)
