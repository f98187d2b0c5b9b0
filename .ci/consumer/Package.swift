// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "consumer",
    dependencies: [
        .package(name: "precise-timer", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [
                .product(name: "PreciseTimer", package: "precise-timer", condition: .when(platforms: [.linux])),
                .product(name: "PreciseTimerExecutor", package: "precise-timer"),
                .product(name: "PreciseTimerPatterns", package: "precise-timer"),
                .product(name: "PreciseTimerTestKit", package: "precise-timer"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]
        )
    ]
)
