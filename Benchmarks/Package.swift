// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that the libraries it measures do not become dependencies of the library's users.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let timers = Target.Dependency.product(name: "PreciseTimer", package: "precise-timer")

let package = Package(
    name: "precise-timer-benchmarks",
    dependencies: [
        .package(name: "precise-timer", path: "..", traits: ["Libevent"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(name: "CBenchmark"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                timers, "CBenchmark",
                .product(name: "PreciseTimerExecutor", package: "precise-timer"),
                .product(name: "PreciseTimerPatterns", package: "precise-timer"),
                .product(name: "CLibevent", package: "precise-timer"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        // Runs under callgrind, so it links only what it counts.
        .executableTarget(name: "counted", dependencies: [timers], swiftSettings: settings),
    ]
)
