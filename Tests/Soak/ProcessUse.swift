import Foundation
import HostSystem

/// The process's resources at one moment.
struct ProcessUse {
    /// Resident memory in kilobytes.
    let memory: Int
    let descriptors: Int
    let threads: Int

    static var now: ProcessUse {
        let status = ProcFile.text("/proc/self/status") ?? ""
        func field(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
        return ProcessUse(memory: field("VmRSS:"), descriptors: descriptors, threads: field("Threads:"))
    }
}

/// Tells whether the process's resources grow.
///
/// The first third of the samples is warm-up: pools, queues and caches fill. The maximum of the last third is
/// compared with that of the middle third. Memory may be a tenth and 16 MB higher, because the allocator returns
/// pages late. Descriptors may be 48 higher and threads 32: some ten services come and go at random moments, each
/// with up to three descriptors and a thread, and Dispatch keeps idle workers for some seconds.
struct Growth {
    private(set) var samples: [ProcessUse] = []

    mutating func add(_ sample: ProcessUse) { samples.append(sample) }

    /// The resources that have grown; empty for fewer than nine samples.
    var findings: [String] {
        let third = samples.count / 3
        guard third >= 3 else { return [] }
        let (middle, last) = (samples[third..<(2 * third)], samples[(2 * third)...])
        func compare(_ name: String, _ value: (ProcessUse) -> Int, _ allowed: (Int) -> Int) -> String? {
            let (before, after) = (middle.map(value).max() ?? 0, last.map(value).max() ?? 0)
            return after > allowed(before) ? "\(name) grew from \(before) to \(after)" : nil
        }
        return [
            compare("memory (kB)", \.memory) { $0 + $0 / 10 + 16_384 },
            compare("open descriptors", \.descriptors) { $0 + 48 },
            compare("threads", \.threads) { $0 + 32 },
        ]
        .compactMap(\.self)
    }
}
