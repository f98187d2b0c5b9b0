import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// The signals that a program receives if a handler starts it. Library threads and Dispatch's workers block all of
/// them, and a program inherits the mask of the thread that starts it.
@Suite(.waits("a program inherits the mask of signals"), .timeLimit(.minutes(60))) struct SpawnTests {
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.available)
    func aProgramInheritsTheBlockedSignalsOfAnInlineHandler(backend: Backend) async throws {
        #expect(try await blocksTermination(backend) { try Self.blockedSignalsOfAChild(unblocking: false) })
    }

    @Test(arguments: Backend.available)
    func aProgramWhoseMaskIsSetReceivesItsSignals(backend: Backend) async throws {
        #expect(try await !blocksTermination(backend) { try Self.blockedSignalsOfAChild(unblocking: true) })
    }

    /// Whether SIGTERM is blocked in a program that an inline handler starts.
    private func blocksTermination(
        _ backend: Backend,
        start: @escaping @Sendable () throws -> String
    ) async throws -> Bool {
        let (service, blocked) = (try TimerService(backend), Box<String>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: blocked) { blocked, _ in
            blocked.value = (try? start()) ?? "no child"
        }
        #expect(await soon { blocked.value != nil })
        let mask = try #require(UInt64(blocked.value ?? "", radix: 16))
        return mask & 1 << UInt64(SIGTERM - 1) != 0
    }

    /// The signals that are blocked in a new program, in hexadecimal.
    private static func blockedSignalsOfAChild(unblocking: Bool) throws -> String {
        var ends: [Int32] = [0, 0]
        _ = unsafe pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var mask = sigset_t()
        unsafe sigemptyset(&mask)
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        unsafe posix_spawnattr_setflags(&attributes, unblocking ? CShort(POSIX_SPAWN_SETSIGMASK) : 0)
        let command: [String] = ["grep", "SigBlk", "/proc/self/status"]
        var words: [UnsafeMutablePointer<CChar>?] = unsafe command.map { unsafe strdup($0) }
        defer { while let word = unsafe words.popLast() { unsafe free(word) } }
        unsafe words.append(nil)
        var id: pid_t = 0
        unsafe posix_spawn(&id, "/bin/grep", &actions, &attributes, words, environ)
        close(ends[1])
        // Not to the end of the file: a program of another test may have got the pipe, and keep it open.
        let text = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true).availableData
        var status: Int32 = 0
        unsafe waitpid(id, &status, 0)
        return String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).last.map(String.init) ?? ""
    }
}
