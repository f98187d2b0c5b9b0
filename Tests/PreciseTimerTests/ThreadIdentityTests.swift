import TestSupport
import Testing
import TimerAlarms

/// A thread's identity is that of the thread that runs now, also in an async function of a release build.
struct ThreadIdentityTests {
    @Test func itIsReadAnewAfterASuspension() async {
        for _ in 0..<200 {
            let before = ThreadID.current
            #expect(before == stableIdentity(), "of one thread it is always the same")
            await hop()
            #expect(ThreadID.current == stableIdentity())
        }
    }

    /// Read in a function that the compiler cannot merge with its caller.
    @inline(never) @_optimize(none) private func stableIdentity() -> ThreadID { ThreadID.current }

    private func hop() async {
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { try? await Task.sleep(for: .microseconds(50)) } }
        }
    }
}
