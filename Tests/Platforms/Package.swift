// swift-tools-version: 6.2

import PackageDescription

let timer = Target.Dependency.product(name: "PreciseTimer", package: "precise-timer")

let package = Package(
    name: "platforms",
    dependencies: [.package(name: "precise-timer", path: "../..", traits: ["Libevent", "RunLoop"])],
    targets: [
        .executableTarget(name: "every-backend", dependencies: [timer]),
        .executableTarget(name: "kernels-probe", dependencies: [timer]),
    ]
)
