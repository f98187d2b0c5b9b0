import TestSupport
import Testing
import TimerAlarms

/// The identity read is that of the running thread, even in an async function of a release build.
struct ThreadIdentityTests {
    @Test func theThreadIdentityIsReadAgainAfterASuspension() async {
        for _ in 0..<200 {
            let before = ThreadID.current
            #expect(before == stableIdentity(), "one thread always has the same identity")
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
