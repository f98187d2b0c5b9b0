// swift-tools-version: 6.2

import PackageDescription

// In a package of your own, the path is that of your clone of precise-timer.
let package = Package(
    name: "heartbeat",
    dependencies: [
        .package(name: "precise-timer", path: "../..", traits: ["ServiceLifecycle"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "heartbeat",
            dependencies: [
                .product(name: "PreciseTimer", package: "precise-timer"),
                .product(name: "PreciseTimerLifecycle", package: "precise-timer"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]
        )
    ]
)
