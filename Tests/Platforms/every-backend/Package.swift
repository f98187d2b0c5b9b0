// swift-tools-version: 6.2

import PackageDescription

#if os(Linux)
let traits: Set<Package.Dependency.Trait> = ["Libevent", "RunLoop"]
#else
let traits: Set<Package.Dependency.Trait> = ["RunLoop"]
#endif

let package = Package(
    name: "every-backend",
    platforms: [.macOS(.v26)],
    dependencies: [.package(name: "precise-timer", path: "../../..", traits: traits)],
    targets: [
        .executableTarget(
            name: "every-backend",
            dependencies: [.product(name: "PreciseTimer", package: "precise-timer")]
        )
    ]
)
