internal import CTimerKernel
internal import Glibc

/// How long threads of this process were ready to run and waited for a processor.
package struct RunDelay: Hashable, Sendable {
    /// Nanoseconds, by the threads' numbers.
    private let ofThreads: [String: UInt64]

    /// The delays by the threads' numbers, in nanoseconds.
    package init(_ ofThreads: [String: UInt64]) { self.ofThreads = ofThreads }

    /// Nanoseconds since an earlier reading, of the threads that live at this one. A number whose delay is smaller now
    /// is that of a new thread.
    package func since(_ earlier: RunDelay) -> UInt64 {
        ofThreads.reduce(0) { sum, thread in
            let before = earlier.ofThreads[thread.key] ?? 0
            return sum &+ (thread.value >= before ? thread.value - before : thread.value)
        }
    }

    /// That of all threads that live now, except the calling thread; nil if the kernel does not say.
    package static var ofOtherThreads: RunDelay? {
        // The calling thread runs, so a kernel that counts has counted it.
        guard let own = KernelThread.current.listedNumber,
            ProcFile.text("/proc/self/task/\(own)/schedstat").flatMap({ nanoseconds(in: $0) }) != nil,
            let folder = unsafe opendir("/proc/self/task")
        else { return nil }
        defer { unsafe closedir(folder) }
        var ofThreads: [String: UInt64] = [:]
        while let entry = unsafe readdir(folder) {
            let name = unsafe String(characters: entry.pointee.d_name)
            // A thread may have ended meanwhile.
            guard name != "\(own)", let text = ProcFile.text("/proc/self/task/\(name)/schedstat") else { continue }
            ofThreads[name] = nanoseconds(in: text) ?? 0
        }
        return RunDelay(ofThreads)
    }

    /// Reads the text of a schedstat file: the second of three numbers (the kernel's "Scheduler Statistics"). Nil for
    /// three zeros: so writes a kernel that does not count, and a thread that never ran.
    package static func nanoseconds(in text: String) -> UInt64? {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
        return numbers.count == 3 && numbers != [0, 0, 0] ? numbers[1] : nil
    }
}
