// swift-tools-version: 6.2

import Foundation
import PackageDescription

/// Whether another package depends on this one. SwiftPM has one set of default traits for both cases and tells no
/// manifest who loads it. But it works in the folder of the root package, or in one below.
let isDependency: Bool = {
    let parts = { (path: String) in URL(fileURLWithPath: path).resolvingSymlinksInPath().pathComponents }
    let own = parts(Context.packageDirectory)
    var folder = parts(FileManager.default.currentDirectoryPath)
    while !FileManager.default.fileExists(atPath: (folder + ["Package.swift"]).joined(separator: "/")) {
        // An editor may load packages from anywhere.
        guard folder.count > 1 else { return own.contains("checkouts") || own.contains("registry") }
        folder.removeLast()
    }
    return folder != own
}()

// A clone builds what this machine can build. SwiftPM remembers whether libevent is here: `swift package purge-cache`
// and `swift package clean` make it look again.
var ownTraits: Set<String> = ["RunLoop", "Metrics", "Logging", "ServiceLifecycle", "Instrument"]
let prefixes = ["/usr", "/usr/local"]
if prefixes.contains(where: { FileManager.default.fileExists(atPath: "\($0)/include/event2/event.h") }) {
    ownTraits.insert("Libevent")
}

/// A library of the target of the same name.
func library(_ name: String) -> Product { .library(name: name, targets: [name]) }

/// Another package's product. SwiftPM resolves the package only if the trait is enabled.
func product(_ name: String, _ package: String, if trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let libevent: Target.Dependency = .target(name: "CLibevent", condition: .when(traits: ["Libevent"]))

/// What the tests of the library use.
let tested: [Target.Dependency] = [
    "PreciseTimer", "PreciseTimerFoundation", "PreciseTimerPatterns", "PreciseTimerTestKit", "TimerAlarms",
    "TimerKernel", "TestSupport",
]

let package = Package(
    name: "precise-timer",
    products: [
        library("PreciseTimer"), library("PreciseTimerPatterns"), library("PreciseTimerTestKit"),
        library("PreciseTimerFoundation"), library("CLibevent"),
    ],
    traits: [
        .trait(name: "Libevent", description: "The libevent backend; needs libevent's headers."),
        .trait(name: "RunLoop", description: "The run loop backend; links Foundation."),
        .trait(name: "Metrics", description: "The adapter to swift-metrics."),
        .trait(name: "Logging", description: "The adapter to swift-log."),
        .trait(name: "ServiceLifecycle", description: "The adapter to swift-service-lifecycle."),
        .trait(
            name: "Instrument",
            description: "In a clone, the command compare-backends; includes RunLoop.",
            enabledTraits: ["RunLoop"]
        ),
        .default(enabledTraits: isDependency ? [] : ownTraits),
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
        .target(name: "PreciseTimerTestKit", dependencies: ["PreciseTimer", "TimerAlarms", "TimerKernel"]),
        .target(name: "PreciseTimerFoundation", dependencies: ["PreciseTimer", "TimerKernel"]),

        .target(
            name: "TestSupport",
            dependencies: [
                "PreciseTimer", "PreciseTimerTestKit", "TimerAlarms", "TimerKernel", "CTimerKernel", libevent,
            ],
            path: "Tests/TestSupport"
        ),
        .executableTarget(name: "fault-probe", dependencies: tested, path: "Tests/FaultProbe"),
        .testTarget(name: "ClockStepTests", dependencies: tested),
        .testTarget(name: "ConcurrencyTests", dependencies: tested),
        .testTarget(name: "FaultTests", dependencies: tested + ["fault-probe", libevent], exclude: ["refuse.c"]),
        .testTarget(name: "ModelTests", dependencies: tested),
        .testTarget(name: "PreciseTimerTests", dependencies: tested),
        .testTarget(name: "PreciseTimerPatternsTests", dependencies: tested),
        .testTarget(name: "PreciseTimerTestKitTests", dependencies: tested),
        .testTarget(name: "Swift5Tests", dependencies: tested, swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(name: "TimerCoreTests", dependencies: tested),
    ]
)

// The checks of a change build the library and its tests several times over, and nothing else each time. The value is
// 1, or the names of the only test targets that are wanted, with spaces in between.
let libraryOnly = Context.environment["PRECISE_TIMER_LIBRARY_ONLY"]
if let libraryOnly, libraryOnly != "1" {
    let wanted = libraryOnly.split(separator: " ").map(String.init)
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

// The adapters, each to another package.
if libraryOnly == nil {
    let coreMetrics = product("CoreMetrics", "swift-metrics", if: "Metrics")
    let logging = product("Logging", "swift-log", if: "Logging")
    let lifecycle = product("ServiceLifecycle", "swift-service-lifecycle", if: "ServiceLifecycle")
    package.products += [
        library("PreciseTimerMetrics"), library("PreciseTimerLogging"), library("PreciseTimerLifecycle"),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ]
    let adapters: [Target] = [
        .target(name: "PreciseTimerMetrics", dependencies: ["PreciseTimer", coreMetrics]),
        .target(name: "PreciseTimerLogging", dependencies: ["PreciseTimer", logging]),
        .target(
            name: "PreciseTimerLifecycle",
            dependencies: [
                "PreciseTimer", "TimerKernel", lifecycle, product("Logging", "swift-log", if: "ServiceLifecycle"),
            ]
        ),
        .testTarget(
            name: "AdapterTests",
            dependencies: tested + [
                "PreciseTimerMetrics", coreMetrics, product("MetricsTestKit", "swift-metrics", if: "Metrics"),
                "PreciseTimerLogging", logging, product("InMemoryLogging", "swift-log", if: "Logging"),
                "PreciseTimerLifecycle", lifecycle,
                product("ServiceLifecycleTestKit", "swift-service-lifecycle", if: "ServiceLifecycle"),
            ]
        ),
    ]
    package.targets += adapters
}

// The instrument, and those that test it or need it. Only programs need another package, and a user gets no program.
if libraryOnly == nil {
    let arguments = product("ArgumentParser", "swift-argument-parser", if: "Instrument")
    package.products += [
        library("BackendComparison"), .executable(name: "compare-backends", targets: ["compare-backends"]),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ]
    let parts: [Target] = [
        .target(
            name: "BackendComparison",
            dependencies: ["PreciseTimer", "TimerKernel", "CTimerKernel"],
            resources: [.embedInCode("Report/Resources/page.css")]
        ),
        .executableTarget(
            name: "compare-backends",
            dependencies: ["BackendComparison", "PreciseTimer", "TimerKernel", "CTimerKernel", arguments]
        ),
    ]
    let tests: [Target] = [
        .executableTarget(name: "timer-soak", dependencies: tested + [arguments], path: "Tests/Soak"),
        .testTarget(
            name: "BackendComparisonTests",
            dependencies: ["BackendComparison", "PreciseTimer", "TimerKernel", "TestSupport"]
        ),
        .testTarget(
            name: "CompareBackendsTests",
            dependencies: ["compare-backends", "BackendComparison", "TestSupport"]
        ),
        .target(
            name: "FuzzChecks",
            dependencies: ["PreciseTimer", "BackendComparison", "PreciseTimerTestKit"],
            path: "Tests/Fuzz/Checks"
        ),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzChecks", "PreciseTimer", "TestSupport"]),
    ]
    package.targets += parts + tests
}

/// The settings of every target: the language's strictest mode.
var settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
// Not for users, whose own flags may contradict: -suppress-warnings, or -Ounchecked.
if Context.environment["PRECISE_TIMER_STRICT"] == "1" {
    settings += [.strictMemorySafety(), .treatAllWarnings(as: .error)]
}
for target in package.targets where target.type != .system {
    target.swiftSettings = target.swiftSettings ?? settings
}

// The fuzz target has libFuzzer's main function, and can be linked with it only: .ci/fuzz asks for it.
if Context.environment["PRECISE_TIMER_FUZZ"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: ["FuzzChecks"],
            path: "Tests/Fuzz/Target",
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]
        )
    )
}

// A user's `swift build` after a `swift run` builds the programs of a dependency, even if their trait is off.
if isDependency {
    package.products.removeAll { $0 is Product.Executable }
    package.targets.removeAll { [.executable, .test].contains($0.type) }
}
