import Foundation
import PreciseTimer
import TestSupport
import Testing

/// Attaching to a host's loop while the system refuses descriptors: the call throws, and later succeeds.
@Suite(.waits("the kernel refuses descriptors to a host's loop"), .timeLimit(.minutes(60)))
struct AttachmentRefusalTests {
    enum Attachment: String, CaseIterable, Codable, Sendable {
        #if RunLoop
        case runLoop
        #endif
        case queue
        case poll
        #if Libevent
        case eventBase
        #endif
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Attachment.allCases)
    func anAttachmentWithoutDescriptorsIsRefusedAndWorksLater(attachment: Attachment) async {
        await #expect(processExitsWith: .success) { [attachment] in
            Fault.endIfHung()
            #if Libevent
            let base = HostEventBase()
            #endif
            let attach: () throws(TimerError) -> TimerService = { () throws(TimerError) in
                switch attachment {
                #if RunLoop
                case .runLoop: try TimerService(attachedTo: .main, mode: RunLoop.Mode("test"))
                #endif
                case .queue: try TimerService(queue: .global())
                case .poll: try TimerService.pollable().service
                #if Libevent
                case .eventBase: try unsafe TimerService(attachedTo: base.base)
                #endif
                }
            }
            _ = RunLoop.main
            DispatchDescriptors.open()
            Fault.closeDescriptorTable()
            for _ in 0..<3 {
                let error = #expect(throws: TimerError.self) { try attach() }
                #expect(error?.code == .systemRefused)
            }
            Fault.openDescriptorTable()
            let log = Log()
            try PreciseTimer.schedule(.once(after: .seconds(1)), on: try attach(), target: log) { $0.note($1) }
        }
    }
    #endif
}
