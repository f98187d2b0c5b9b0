// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "kernels-probe",
    dependencies: [.package(name: "precise-timer", path: "../../..", traits: ["Libevent", "RunLoop"])],
    targets: [
        .executableTarget(
            name: "kernels-probe",
            dependencies: [.product(name: "PreciseTimer", package: "precise-timer")]
        )
    ]
)
