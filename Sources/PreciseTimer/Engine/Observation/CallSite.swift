/// A call in the user's code that schedules timers.
struct CallSite: Hashable, Sendable {
    /// The address of the file's name, which exists as long as the process. A number, because no pointer is `Sendable`.
    private let address: UInt
    let line: UInt32

    @inline(__always) init(_ file: StaticString, _ line: UInt) {
        // A static string holds a single character instead of a pointer only if someone made it so on purpose.
        address = unsafe UInt(bitPattern: (file.hasPointerRepresentation ? file : "?").utf8Start)
        self.line = UInt32(clamping: line)
    }

    /// The file's name.
    var file: String { unsafe UnsafePointer<UInt8>(bitPattern: address).map { unsafe String(cString: $0) } ?? "?" }

    /// A line that tells the developer something about the timer.
    func message(_ text: String) -> String { "PreciseTimer: \(file):\(line): \(text)" }

    /// The same about the timer's handler.
    func message(ofHandler label: String?, _ text: String) -> String {
        message("the handler of this timer\(label.map { " (\"\($0)\")" } ?? "") \(text)")
    }
}
