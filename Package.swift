// swift-tools-version: 6.2

import PackageDescription

/// The settings of every target: the language's strictest mode.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// SwiftPM resolves a package only if an enabled trait needs it. A user of the library who leaves this trait out
/// resolves no package but this one.
let ifInstrument: TargetDependencyCondition? = .when(traits: ["Instrument"])

/// The products that join the library to another package, each behind a trait of that name.
struct Adapter {
    let name: String
    let trait: String
    let package: Package.Dependency
    /// The other package's name, the product that is used, and the one that helps with tests.
    let other: (package: String, product: String, forTests: String)
}

let adapters = [
    Adapter(
        name: "PreciseTimerMetrics",
        trait: "Metrics",
        package: .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        other: ("swift-metrics", "CoreMetrics", "MetricsTestKit")
    ),
    Adapter(
        name: "PreciseTimerLogging",
        trait: "Logging",
        package: .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        other: ("swift-log", "Logging", "InMemoryLogging")
    ),
    Adapter(
        name: "PreciseTimerLifecycle",
        trait: "ServiceLifecycle",
        package: .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        other: ("swift-service-lifecycle", "ServiceLifecycle", "ServiceLifecycleTestKit")
    ),
]

let package = Package(
    name: "precise-timer",
    products: [
        .library(name: "PreciseTimer", targets: ["PreciseTimer"]),
        .library(name: "PreciseTimerTestKit", targets: ["PreciseTimerTestKit"]),
        .library(name: "PreciseTimerFoundation", targets: ["PreciseTimerFoundation"]),
        .library(name: "CLibevent", targets: ["CLibevent"]),
        .executable(name: "compare-backends", targets: ["compare-backends"]),
    ],
    traits: [
        .trait(name: "Libevent", description: "The libevent backend; needs libevent's headers."),
        .trait(name: "RunLoop", description: "The run loop backend; links Foundation."),
        .trait(
            name: "Instrument",
            description: "The command compare-backends; needs four other packages.",
            enabledTraits: ["RunLoop"]
        ),
        .trait(name: "Metrics", description: "The adapter to swift-metrics."),
        .trait(name: "Logging", description: "The adapter to swift-log."),
        .trait(name: "ServiceLifecycle", description: "The adapter to swift-service-lifecycle."),
        // SwiftPM has one default for the root package and for a dependency, and the root's commands need all traits.
        .default(enabledTraits: ["Libevent", "RunLoop", "Instrument", "Metrics", "Logging", "ServiceLifecycle"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .systemLibrary(name: "CTimerKernel", path: "CShims/CTimerKernel"),
        .systemLibrary(
            name: "CLibevent",
            path: "CShims/CLibevent",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"]), .brew(["libevent"])]
        ),

        .target(name: "TimerKernel", dependencies: ["CTimerKernel"], swiftSettings: settings),
        .target(
            name: "TimerAlarms",
            dependencies: [
                "TimerKernel", "CTimerKernel",
                .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
            ],
            swiftSettings: settings
        ),
        .target(name: "PreciseTimer", dependencies: ["TimerKernel", "TimerAlarms"], swiftSettings: settings),
        .target(
            name: "PreciseTimerTestKit",
            dependencies: ["PreciseTimer", "TimerAlarms", "TimerKernel"],
            swiftSettings: settings
        ),

        .target(name: "PreciseTimerFoundation", dependencies: ["PreciseTimer"], swiftSettings: settings),

        .target(
            name: "HostSystem",
            dependencies: [
                "TimerKernel", "CTimerKernel", .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
                .product(name: "SystemPackage", package: "swift-system", condition: ifInstrument),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TimerResults",
            dependencies: [.product(name: "Histogram", package: "hdrhistogram-swift", condition: ifInstrument)],
            swiftSettings: settings
        ),
        .target(
            name: "TimerReport",
            dependencies: ["TimerResults"],
            resources: [
                .embedInCode("Resources/page.html"), .embedInCode("Resources/page.css"),
                .embedInCode("Resources/page.js"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TimerProbe",
            dependencies: [
                "PreciseTimer", "TimerResults", "HostSystem",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms", condition: ifInstrument),
                .product(name: "HeapModule", package: "swift-collections", condition: ifInstrument),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "compare-backends",
            dependencies: [
                "TimerProbe", "TimerReport", "TimerResults", "HostSystem", "PreciseTimer",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: ifInstrument),
            ],
            swiftSettings: settings
        ),

        .executableTarget(
            name: "timer-soak",
            dependencies: [
                "PreciseTimer", "TimerKernel", "TimerAlarms", "HostSystem",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: ifInstrument),
            ],
            path: "Tests/Soak",
            swiftSettings: settings
        ),

        .target(
            name: "TestSupport",
            dependencies: [
                "PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel",
                .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .testTarget(name: "TimerCoreTests", dependencies: ["PreciseTimer", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "PreciseTimerTests",
            dependencies: [
                "PreciseTimer", "PreciseTimerFoundation", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PreciseTimerTestKitTests",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ModelTests",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel", "TestSupport"],
            swiftSettings: settings
        ),
        .target(
            name: "FuzzChecks",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerReport", "TimerResults", "TimerProbe"],
            path: "Tests/Fuzz/Checks",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FuzzTests",
            dependencies: ["FuzzChecks", "PreciseTimer", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ConcurrencyTests",
            dependencies: ["PreciseTimer", "TimerAlarms", "TimerKernel", "TestSupport"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "fault-probe",
            dependencies: ["PreciseTimer", "TimerAlarms", "TimerKernel", "TestSupport"],
            path: "Tests/FaultProbe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "PreciseTimer", "TimerAlarms", "TimerKernel", "TestSupport", "fault-probe",
                .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
            ],
            exclude: ["refuse.c"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClockStepTests",
            dependencies: ["PreciseTimer", "TimerAlarms", "TimerKernel", "TestSupport"],
            swiftSettings: settings
        ),
        .target(
            name: "ResultsSupport",
            dependencies: ["TimerResults"],
            path: "Tests/ResultsSupport",
            swiftSettings: settings
        ),
        .testTarget(name: "HostSystemTests", dependencies: ["HostSystem", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "TimerProbeTests",
            dependencies: ["TimerProbe", "TimerResults", "PreciseTimer", "HostSystem", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TimerResultsTests",
            dependencies: ["TimerResults", "ResultsSupport", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TimerReportTests",
            dependencies: ["TimerReport", "TimerResults", "TimerProbe", "ResultsSupport"],
            exclude: ["Golden"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CompareBackendsTests",
            dependencies: ["compare-backends", "TestSupport"],
            swiftSettings: settings
        ),
    ]
)

// The adapters, and their tests against the real packages.
for adapter in adapters {
    let condition: TargetDependencyCondition? = .when(traits: [adapter.trait])
    let product = Target.Dependency.product(
        name: adapter.other.product,
        package: adapter.other.package,
        condition: condition
    )
    package.products.append(.library(name: adapter.name, targets: [adapter.name]))
    package.dependencies.append(adapter.package)
    package.targets.append(
        .target(name: adapter.name, dependencies: ["PreciseTimer", product], swiftSettings: settings)
    )
}
package.targets.append(
    .testTarget(
        name: "AdapterTests",
        dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel", "TestSupport"]
            + adapters.flatMap { adapter -> [Target.Dependency] in
                let condition: TargetDependencyCondition? = .when(traits: [adapter.trait])
                return [adapter.other.product, adapter.other.forTests]
                    .map { .product(name: $0, package: adapter.other.package, condition: condition) } + [
                        .byName(name: adapter.name)
                    ]
            },
        swiftSettings: settings
    )
)

// The fuzz targets have libFuzzer's main function, and can be linked with it only: .ci/fuzz asks for them.
if Context.environment["PRECISE_TIMER_FUZZ"] == "1" {
    package.targets += ["Schedules", "Texts", "Results"]
        .map { name in
            .executableTarget(
                name: "fuzz-\(name.lowercased())",
                dependencies: ["FuzzChecks"],
                path: "Tests/Fuzz/Targets/\(name)",
                swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]
            )
        }
}

// The checks of a change build the library and its tests several times over, and the instrument and the adapters not
// each time. A trait cannot do that: it cannot remove a target, and `swift test` builds every target. The value is 1,
// or the names of the only test targets that are wanted, with spaces in between.
if let value = Context.environment["PRECISE_TIMER_LIBRARY_ONLY"] {
    let left: Set<String> = Set([
        "HostSystem", "TimerResults", "TimerReport", "TimerProbe", "compare-backends", "timer-soak", "FuzzChecks",
        "HostSystemTests", "ResultsSupport", "TimerResultsTests", "TimerReportTests", "TimerProbeTests",
        "CompareBackendsTests", "FuzzTests", "AdapterTests",
    ])
    .union(adapters.map(\.name))
    let wanted = value.split(separator: " ").map(String.init)
    let isWanted = { (target: Target) in value == "1" || target.type != .test || wanted.contains(target.name) }
    package.targets.removeAll { left.contains($0.name) || !isWanted($0) }
    package.products.removeAll { left.contains($0.name) }
    package.dependencies = []
}
