// swift-tools-version: 6.2

import Foundation
import PackageDescription

/// Whether this is somebody else's dependency, and not the package that they work on. SwiftPM has one set of default
/// traits for both, and this package's own commands and tests need more than a user of the library does.
let isDependency: Bool = {
    let here = Context.packageDirectory
    // By URL: SwiftPM has made this copy itself.
    if here.contains("/checkouts/") || here.contains("/registry/") { return true }
    // By path: swift was started in another package, which is no other copy of this one.
    guard let directory = Context.environment["PWD"] else { return false }
    let start = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    let isInside = (start + "/").hasPrefix(URL(fileURLWithPath: here).resolvingSymlinksInPath().path + "/")
    let has = { (name: String) in FileManager.default.fileExists(atPath: "\(start)/\(name)") }
    return !isInside && has("Package.swift") && !has("Sources/TimerKernel")
}()

#if os(Linux)
let ownTraits: Set<String> = ["Libevent", "RunLoop", "Instrument", "Metrics", "Logging", "ServiceLifecycle"]
#else
/// The instrument needs Linux. libevent is there only if somebody has installed it: `--traits Libevent`.
let ownTraits: Set<String> = ["RunLoop", "Metrics", "Logging", "ServiceLifecycle"]
#endif

/// The settings of every target: the language's strictest mode.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// SwiftPM resolves a package only if an enabled trait needs it. A user of the library leaves this trait out, and
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
    // InlineArray is in the library of Swift 6.2, which came with macOS 26.
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "PreciseTimer", targets: ["PreciseTimer"]),
        .library(name: "PreciseTimerPatterns", targets: ["PreciseTimerPatterns"]),
        .library(name: "PreciseTimerTestKit", targets: ["PreciseTimerTestKit"]),
        .library(name: "PreciseTimerFoundation", targets: ["PreciseTimerFoundation"]),
        .library(name: "CLibevent", targets: ["CLibevent"]),
        .library(name: "BackendComparison", targets: ["BackendComparison"]),
        .executable(name: "compare-backends", targets: ["compare-backends"]),
    ],
    traits: [
        .trait(name: "Libevent", description: "The libevent backend; needs libevent's headers."),
        .trait(name: "RunLoop", description: "The run loop backend; links Foundation."),
        .trait(
            name: "Instrument",
            description: "The command compare-backends; needs three other packages.",
            enabledTraits: ["RunLoop"]
        ),
        .trait(name: "Metrics", description: "The adapter to swift-metrics."),
        .trait(name: "Logging", description: "The adapter to swift-log."),
        .trait(name: "ServiceLifecycle", description: "The adapter to swift-service-lifecycle."),
        .default(enabledTraits: isDependency ? [] : ownTraits),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
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
            name: "PreciseTimerPatterns",
            dependencies: ["PreciseTimer", "TimerKernel"],
            swiftSettings: settings
        ),
        .target(
            name: "PreciseTimerTestKit",
            dependencies: ["PreciseTimer", "TimerAlarms", "TimerKernel"],
            swiftSettings: settings
        ),

        .target(name: "PreciseTimerFoundation", dependencies: ["PreciseTimer"], swiftSettings: settings),

        .target(
            name: "HostSystem",
            dependencies: [
                "TimerKernel", "CTimerKernel",
                .product(name: "SystemPackage", package: "swift-system", condition: ifInstrument),
            ],
            swiftSettings: settings
        ),
        .target(name: "TimerResults", swiftSettings: settings),
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
                .product(name: "HeapModule", package: "swift-collections", condition: ifInstrument),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BackendComparison",
            dependencies: ["PreciseTimer", "TimerProbe", "TimerReport", "TimerResults", "HostSystem"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "compare-backends",
            dependencies: [
                "BackendComparison", "TimerProbe", "TimerReport", "TimerResults", "HostSystem", "PreciseTimer",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: ifInstrument),
            ],
            swiftSettings: settings
        ),

        .executableTarget(
            name: "timer-soak",
            dependencies: [
                "PreciseTimer", "PreciseTimerPatterns", "TimerKernel", "TimerAlarms", "HostSystem",
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
                "PreciseTimer", "PreciseTimerFoundation", "PreciseTimerPatterns", "PreciseTimerTestKit", "TimerAlarms",
                "TimerKernel", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PreciseTimerPatternsTests",
            dependencies: [
                "PreciseTimer", "PreciseTimerPatterns", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "Swift5Tests",
            dependencies: ["PreciseTimer", "PreciseTimerPatterns", "TestSupport"],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .testTarget(
            name: "PreciseTimerTestKitTests",
            dependencies: [
                "PreciseTimer", "PreciseTimerPatterns", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel",
                "TestSupport",
            ],
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
            swiftSettings: settings
        ),
        .testTarget(
            name: "CompareBackendsTests",
            dependencies: ["compare-backends", "BackendComparison", "PreciseTimer", "TestSupport"],
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

/// The targets of the instrument, and those that test it or need it.
let instrument: Set<String> = [
    "HostSystem", "TimerResults", "TimerReport", "TimerProbe", "BackendComparison", "compare-backends", "timer-soak",
    "FuzzChecks",
    "HostSystemTests", "ResultsSupport", "TimerResultsTests", "TimerReportTests", "TimerProbeTests",
    "CompareBackendsTests", "FuzzTests",
]

/// Leaves targets and their products out. A trait cannot do that, and `swift test` builds every target.
@MainActor func leaveOut(_ names: Set<String>) {
    package.targets.removeAll { names.contains($0.name) }
    package.products.removeAll { names.contains($0.name) }
}

#if !os(Linux)
// These use calls of Linux.
leaveOut(instrument.union(["FaultTests", "fault-probe", "ClockStepTests"]))
package.dependencies = adapters.map(\.package)
#endif

// The checks of a change build the library and its tests several times over, and the instrument and the adapters not
// each time. The value is 1, or the names of the only test targets that are wanted, with spaces in between.
if let value = Context.environment["PRECISE_TIMER_LIBRARY_ONLY"] {
    leaveOut(instrument.union(adapters.map(\.name)).union(["AdapterTests"]))
    package.dependencies = []
    if value != "1" {
        let wanted = value.split(separator: " ").map(String.init)
        package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
    }
}
