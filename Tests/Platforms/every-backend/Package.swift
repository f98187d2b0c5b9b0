// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "every-backend",
    dependencies: [.package(name: "precise-timer", path: "../../..", traits: ["Libevent", "RunLoop"])],
    targets: [
        .executableTarget(
            name: "every-backend",
            dependencies: [.product(name: "PreciseTimer", package: "precise-timer")]
        )
    ]
)
