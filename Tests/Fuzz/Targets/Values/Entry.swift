import FuzzChecks

/// libFuzzer's entry point.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe ValuesCheck.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
