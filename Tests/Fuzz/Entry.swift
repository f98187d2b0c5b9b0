import Foundation
import FuzzChecks

/// What this process fuzzes; `.ci/fuzz` names it.
private let check: FuzzCheck = {
    let name = ProcessInfo.processInfo.environment["FUZZ_CHECK"] ?? ""
    guard let check = FuzzCheck(rawValue: name) else { fatalError("FUZZ_CHECK names no check: '\(name)'") }
    return check
}()

/// libFuzzer's entry point.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe check.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
