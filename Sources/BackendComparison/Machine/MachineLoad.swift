/// How long programs of the whole machine waited for a processor: "pressure stall information" (the kernel's
/// Documentation/accounting/psi.rst).
enum Pressure {
    /// Nanoseconds since the start of the machine in which at least one thread was ready to run and had no processor;
    /// nil if the kernel does not count them.
    static var current: UInt64? { ProcFile.text("/proc/pressure/cpu").flatMap { waiting(in: $0) } }

    /// Reads the text of /proc/pressure/cpu: `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
    static func waiting(in text: String) -> UInt64? {
        let some = text.split(separator: "\n").first { $0.hasPrefix("some ") }?.split(separator: " ")
        return some?.first { $0.hasPrefix("total=") }.flatMap { UInt64($0.dropFirst(6)) }.map { $0 &* 1000 }
    }
}

/// The time of processors together since the start of the machine, in nanoseconds.
///
/// The kernel counts it in hundredths of a second.
struct ProcessorTime: Hashable, Sendable {
    /// The time for programs and for the kernel's own work.
    let busy: UInt64
    /// The time for which other guests of the same host had the processors that this machine wanted.
    let stolen: UInt64
    /// All time, idle time included.
    let total: UInt64

    /// The time up to now of some processors, or of all if none is named; nil if the kernel does not say.
    static func current(of processors: [Int] = []) -> ProcessorTime? {
        ProcFile.text("/proc/stat").flatMap { ProcessorTime($0, of: processors) }
    }
}

extension ProcessorTime {
    /// The time of some processors together, or of all if none is named, from the text of /proc/stat; nil if one of
    /// them is not shown. A line has user, nice, system, idle, iowait, irq, softirq and steal (proc_stat(5)). Guests of
    /// this machine follow, whose time the first two include.
    init?(_ text: String, of processors: [Int] = []) {
        let wanted = processors.isEmpty ? ["cpu"] : Set(processors.map { "cpu\($0)" })
        let times = text.split(separator: "\n").filter { $0.hasPrefix("cpu") }.map { $0.split(separator: " ") }
            .filter { wanted.contains(String($0[0])) }
            .map { $0.dropFirst().prefix(8).compactMap { UInt64($0).map { $0 &* 10_000_000 } } }
        guard times.count == wanted.count, times.allSatisfy({ $0.count == 8 }) else { return nil }
        func sum(_ columns: [Int]) -> UInt64 { times.reduce(0) { sum, time in columns.reduce(sum) { $0 &+ time[$1] } } }
        self.init(busy: sum([0, 1, 2, 5, 6]), stolen: sum([7]), total: sum(Array(0..<8)))
    }
}

/// The average number of threads that run or wait for a processor or a disk.
enum LoadAverage {
    /// The average of the last minute; nil if the kernel does not say.
    static var current: Double? { ProcFile.line("/proc/loadavg").flatMap { lastMinute(in: $0) } }

    /// Reads the text of /proc/loadavg (proc_loadavg(5)).
    static func lastMinute(in text: String) -> Double? {
        text.split(separator: " ").first.flatMap { Double($0) }
    }
}
