// swift-tools-version: 6.3

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

let package = Package(
    name: "precise-timer",
    products: [
        .library(name: "PreciseTimer", targets: ["PreciseTimer"]),
        .library(name: "PreciseTimerTestKit", targets: ["PreciseTimerTestKit"]),
        .library(name: "PreciseTimerFoundation", targets: ["PreciseTimerFoundation"]),
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
        // SwiftPM has one default for the root package and for a dependency, and the root's commands need all traits.
        .default(enabledTraits: ["Libevent", "RunLoop", "Instrument"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .systemLibrary(name: "CLinuxTimers", path: "CShims/CLinuxTimers"),
        .systemLibrary(
            name: "CLibevent",
            path: "CShims/CLibevent",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"]), .brew(["libevent"])]
        ),

        .target(name: "TimerCore", swiftSettings: settings),
        .target(
            name: "TimerAlarms",
            dependencies: [
                "TimerCore", "CLinuxTimers",
                .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
            ],
            swiftSettings: settings
        ),
        .target(name: "PreciseTimer", dependencies: ["TimerCore", "TimerAlarms"], swiftSettings: settings),
        .target(name: "PreciseTimerTestKit", dependencies: ["PreciseTimer", "TimerAlarms"], swiftSettings: settings),

        .target(name: "PreciseTimerFoundation", dependencies: ["PreciseTimer"], swiftSettings: settings),

        .target(
            name: "HostSystem",
            dependencies: [
                "CLinuxTimers", .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
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
                "PreciseTimer", "TimerAlarms", "HostSystem",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: ifInstrument),
            ],
            path: "Tests/Soak",
            swiftSettings: settings
        ),

        .target(
            name: "TestSupport",
            dependencies: [
                "PreciseTimer", "PreciseTimerTestKit", "TimerAlarms",
                .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .testTarget(name: "TimerCoreTests", dependencies: ["TimerCore", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "PreciseTimerTests",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PreciseTimerTestKitTests",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ModelTests",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TestSupport"],
            swiftSettings: settings
        ),
        .target(
            name: "FuzzChecks",
            dependencies: ["PreciseTimer", "PreciseTimerTestKit", "TimerReport", "TimerResults", "TimerProbe"],
            path: "Tests/Fuzz/Checks",
            swiftSettings: settings
        ),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzChecks", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "ConcurrencyTests",
            dependencies: ["PreciseTimer", "TimerAlarms", "TestSupport"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "fault-probe",
            dependencies: ["PreciseTimer", "TimerAlarms", "TestSupport"],
            path: "Tests/FaultProbe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "PreciseTimer", "TimerAlarms", "TestSupport", "fault-probe",
                .target(name: "CLibevent", condition: .when(traits: ["Libevent"])),
            ],
            exclude: ["refuse.c"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClockStepTests",
            dependencies: ["PreciseTimer", "TimerAlarms", "TestSupport"],
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
            dependencies: ["TimerResults", "ResultsSupport"],
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

// The checks of a change build the library and its tests several times over, and the instrument not each time. A trait
// cannot do that: it cannot remove a target, and `swift test` builds every target.
if Context.environment["PRECISE_TIMER_LIBRARY_ONLY"] == "1" {
    let instrument: Set = [
        "HostSystem", "TimerResults", "TimerReport", "TimerProbe", "compare-backends", "timer-soak", "FuzzChecks",
        "HostSystemTests", "ResultsSupport", "TimerResultsTests", "TimerReportTests", "TimerProbeTests",
        "CompareBackendsTests", "FuzzTests",
    ]
    package.targets.removeAll { instrument.contains($0.name) }
    package.products.removeAll { instrument.contains($0.name) }
    package.dependencies = []
}
