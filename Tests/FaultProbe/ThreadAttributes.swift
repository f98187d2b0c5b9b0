import Foundation
import Glibc
import TestSupport

/// The attributes that a new thread inherits: processors, nice value and scheduling policy.
enum ThreadAttributes {
    /// The attributes to compare.
    enum Kind {
        case all
        case processorsAndPolicy
    }

    /// Runs a body on a thread with an unusual attribute, and waits for it. Returns false if the attribute
    /// could not be set.
    static func run(with attribute: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let isSet = Box<Bool>()
        let isOver = Gate()
        // Not the main thread, whose attributes are the reference.
        Foundation.Thread {
            isSet.value = set(attribute)
            starter.value = CInt(truncatingIfNeeded: threadID())
            body()
            isOver.open()
            // The thread stays alive, so that no other thread gets its number.
            while true { sleep(1_000) }
        }
        .start()
        isOver.pass()
        return isSet.value == true
    }

    /// Whether all threads but the starter have the main thread's attributes, at once or soon: a new thread takes a
    /// moment. Only threads whose name begins with the prefix count. Threads that stay different are reported on
    /// standard error.
    static func othersAreOrdinary(named prefix: String, minding kind: Kind) -> Bool {
        var different: [String]? = nil
        if eventually({
            different = differences(named: prefix, minding: kind)
            return different == []
        }) {
            return true
        }
        for line in different ?? ["no thread has a name that begins with \(prefix)"] {
            FileHandle.standardError.write(Data("\(line)\n".utf8))
        }
        return false
    }

    /// A line for each thread that differs from the main thread; nil if there is no thread with that prefix.
    private static func differences(named prefix: String, minding kind: Kind) -> [String]? {
        let main = attributes(of: "\(getpid())", kind)
        let others = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [])
            .filter { $0 != "\(starter.value ?? 0)" && name(of: $0).hasPrefix(prefix) }
        if others.isEmpty { return nil }
        return others.compactMap { other in
            let attributes = attributes(of: other, kind)
            // A thread may have ended since the names were read.
            return attributes == main || attributes == gone ? nil : "\(name(of: other)): \(attributes), main: \(main)"
        }
    }

    private static let gone = "gone"

    /// The thread whose attributes are unusual on purpose.
    private static let starter = Box<CInt>()

    private static func set(_ attribute: String) -> Bool {
        switch attribute {
        case "nice": return setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) == 0
        case "pinned":
            // Glibc shows this function to GNU sources only.
            typealias Function = @convention(c) (pid_t, Int, UnsafePointer<UInt>) -> CInt
            guard let address = unsafe dlsym(nil, "sched_setaffinity") else { return false }
            var first: UInt = 1
            return unsafe unsafeBitCast(address, to: Function.self)(0, MemoryLayout<UInt>.size, &first) == 0
        // SCHED_BATCH and SCHED_IDLE, which Glibc does not show to Swift.
        case "batch": return setPolicy(3)
        case "idle": return setPolicy(5)
        default: return false
        }
    }

    private static func setPolicy(_ policy: CInt) -> Bool {
        var parameters = sched_param()
        return unsafe sched_setscheduler(0, policy, &parameters) == 0
    }

    private static func threadID() -> Int {
        // The link names the calling thread: PROCESS/task/THREAD.
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return link?.split(separator: "/").last.flatMap { Int($0) } ?? 0
    }

    private static func name(of thread: String) -> String {
        (try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)) ?? ""
    }

    private static func attributes(of thread: String, _ kind: Kind) -> String {
        let status = (try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)) ?? ""
        let processors = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") } ?? ""
        // The fields follow the name, which is in brackets: the nice value is the 19th field, the policy the 41st
        // (proc_pid_stat(5)).
        let stat = (try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)) ?? ""
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 38 else { return gone }
        let nice = kind == .all ? ", nice \(fields[16])" : ""
        return "\(processors), policy \(fields[38])\(nice)"
    }
}
