// swift-tools-version: 6.3

import PackageDescription

// A separate package, so that users of the library do not get the examples' dependencies.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let timers = Target.Dependency.product(name: "PreciseTimer", package: "precise-timer")

let package = Package(
    name: "precise-timer-examples",
    dependencies: [
        .package(name: "precise-timer", path: "..", traits: ["Libevent"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    ],
    targets: [
        // A program with a libevent loop brings libevent's headers itself.
        .systemLibrary(
            name: "CEventLoop",
            path: "CEventLoop",
            pkgConfig: "libevent_core",
            providers: [.apt(["libevent-dev"])]
        ),
        .executableTarget(name: "LibeventLoop", dependencies: [timers, "CEventLoop"], swiftSettings: settings),
        .executableTarget(
            name: "AsyncSequences",
            dependencies: [timers, .product(name: "AsyncAlgorithms", package: "swift-async-algorithms")],
            swiftSettings: settings
        ),
        .executableTarget(name: "PollLoop", dependencies: [timers], swiftSettings: settings),
        .executableTarget(name: "ControlLoop", dependencies: [timers], swiftSettings: settings),
        .executableTarget(name: "Timeouts", dependencies: [timers], swiftSettings: settings),
        .executableTarget(
            name: "NIOEventLoop",
            dependencies: [
                timers,
                .product(name: "PreciseTimerTestKit", package: "precise-timer"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ]
)
