#if os(Linux) && !KQUEUE
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// A service's thread is what was asked for, or says why not.
@Suite(.waits("the kernel grants options to a thread"), .timeLimit(.minutes(60))) struct ThreadOptionsTests {
    typealias Backend = TimerService.Backend
    typealias Options = TimerService.ThreadOptions

    private static let withOwnThread = Backend.available.filter { $0 != .dispatch }
    /// A processor that the process may use.
    private static let processor = ProcFS.processors.first ?? 0
    private static let mayLimitIdleLatency = unsafe access("/dev/cpu_dma_latency", W_OK) == 0

    /// Runs a body on the thread of a service.
    private func onThread<Answer: Sendable>(
        of service: TimerService,
        _ body: @escaping @Sendable () -> Answer
    ) throws -> Answer {
        let answer = Box<Answer>()
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: answer) { answer, _ in
            answer.value = body()
        }
        #expect(eventually { answer.value != nil })
        return try #require(answer.value)
    }

    @Test(arguments: withOwnThread)
    func anOrdinaryThreadHasATimerSlackOfOneNanosecond(backend: Backend) throws {
        let service = try TimerService(backend)
        #expect(service.grant.items.first?.description == "timer slack 1 ns: obtained")
        // Another thread would need CAP_SYS_NICE to read it.
        #expect(try onThread(of: service) { ProcFS.timerSlack(of: ProcFS.callingThread) } == 1)
    }

    /// The slice of this test's own thread is the kernel's; nil on a kernel that does not show it, or has none.
    private static let usualSlice = ProcFS.slice(of: ProcFS.callingThread)

    /// What a service's thread, and a thread that it makes, have for a slice.
    private func slices(of service: TimerService) throws -> (own: Int?, other: Int?) {
        try onThread(of: service) {
            let (own, other) = (ProcFS.slice(of: ProcFS.callingThread), Box<Int>())
            let isOver = Gate()
            Foundation.Thread {
                other.value = ProcFS.slice(of: ProcFS.callingThread)
                isOver.open()
            }
            .start()
            isOver.pass()
            return (own, other.value)
        }
    }

    @Test(arguments: withOwnThread)
    func aServicesThreadAsksForTheShortestSlice(backend: Backend) throws {
        let service = try TimerService(backend)
        let item = try #require(service.grant.items.last)
        #expect(item.option == .slice)
        #expect(item.asked == "100 µs")
        // Since Linux 6.12 it is obtained; an older kernel, which ignores it, has no such number.
        guard item.refusal == nil, Self.usualSlice != nil else { return }
        let (own, other) = try slices(of: service)
        #expect(own == 100_000)
        #expect(other == Self.usualSlice, "a thread that a handler makes has the kernel's")
    }

    @Test func aSliceIsChosenOrLeftToTheKernel() throws {
        let chosen = try TimerService(.timerFD, thread: Options(slice: .microseconds(3_000)))
        let left = try TimerService(.timerFD, thread: Options(slice: .zero))
        #expect(chosen.grant.items.last?.asked == "3000 µs")
        #expect(left.grant.items.map(\.option) == [.timerSlack])
        guard chosen.grant.refusals.isEmpty, Self.usualSlice != nil else { return }
        #expect(try slices(of: chosen).own == 3_000_000)
        #expect(try slices(of: left).own == Self.usualSlice)
    }

    @Test func aThreadOfTheHostGetsASliceOnlyIfAsked() async throws {
        let (plain, asked) = try await onOwnThread {
            let plain = try Options().applyToCallingThread()
            return (plain, try Options(slice: .milliseconds(1)).applyToCallingThread())
        }
        #expect(plain.items.isEmpty)
        #expect(asked.items.map(\.option) == [.slice])
    }

    @Test func dispatchAsksForNothingAndSaysWhatItCannotSet() throws {
        #expect(try TimerService(.dispatch).grant.items == [])
        let service = try TimerService(.dispatch, thread: Options(policy: .fifo(priority: 10), affinity: [0]))
        #expect(service.grant.refusals.map(\.option) == [.affinity, .policy])
        #expect(service.grant.refusals.allSatisfy { $0.refusal?.code == .unavailable })
        #expect("\(service.grant)".contains("it cannot be set on this backend"))
    }

    @Test func servicesOnTheHostsThreadsAskForNothing() throws {
        #expect(try TimerService.pollable().service.grant.items == [])
    }

    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"), arguments: withOwnThread)
    func aRealTimeThreadIsOneAndItsThreadsAreOrdinary(backend: Backend) throws {
        let service = try TimerService(
            backend,
            thread: Options(policy: .fifo(priority: 7), affinity: [Self.processor], timerSlack: .microseconds(3))
        )
        #expect(service.grant.refusals == [], "\(service.grant)")
        #expect(service.grant.items.map(\.asked) == ["3000 ns", "100 µs", "\(Self.processor)", "fifo:7"])
        let (own, other) = try onThread(of: service) {
            let other = Box<ProcFS.Scheduling>()
            var thread = pthread_t()
            // Without attributes it takes over everything from this thread.
            let argument = unsafe Unmanaged.passRetained(other).toOpaque()
            let failure = unsafe pthread_create(
                &thread,
                nil,
                { argument in
                    guard let argument = unsafe argument else { return nil }
                    let other = unsafe Unmanaged<Box<ProcFS.Scheduling>>.fromOpaque(argument).takeRetainedValue()
                    other.value = ProcFS.schedulingOfCallingThread
                    return nil
                },
                argument
            )
            if failure == 0 { pthread_join(thread, nil) }
            return (ProcFS.schedulingOfCallingThread, other.value)
        }
        #expect(own == ProcFS.Scheduling(policy: SCHED_FIFO, priority: 7))
        #expect(other == ProcFS.Scheduling(policy: SCHED_OTHER, priority: 0))
    }

    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func theDeadlinePolicyIsObtainedOrRefusedWithItsReason() throws {
        let policy = Options.Policy.deadline(
            runtime: .microseconds(100),
            deadline: .milliseconds(1),
            period: .milliseconds(1)
        )
        let service = try TimerService(.timerFD, thread: Options(policy: policy))
        if let refusal = service.grant.refusals.first {
            #expect(refusal.refusal?.errno != nil)
            #expect(refusal.advice != nil)
        } else {
            // SCHED_DEADLINE
            #expect(try onThread(of: service) { ProcFS.schedulingOfCallingThread }.policy == 6)
        }
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(2)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 5 })
    }

    /// Three different numbers, so that none can stand for another.
    @Test(.enabled(if: ProcFS.maySchedule && hasReader, "needs CAP_SYS_NICE, and chrt"))
    func theDeadlinePolicyHasTheNumbersThatWereAskedFor() throws {
        let policy = Options.Policy.deadline(
            runtime: .microseconds(100),
            deadline: .milliseconds(1),
            period: .milliseconds(2)
        )
        let service = try TimerService(.timerFD, thread: Options(policy: policy))
        let thread = try onThread(of: service) { ProcFS.callingThread }
        let (program, output) = (Foundation.Process(), Pipe())
        program.executableURL = URL(fileURLWithPath: Self.chrt)
        program.arguments = ["--pid", "\(thread)"]
        program.standardOutput = output
        try program.run()
        program.waitUntilExit()
        let read = try output.fileHandleForReading.readToEnd() ?? Data()
        let refusals = service.grant.refusals.map { $0.refusal?.errno }
        #expect(!refusals.contains(EINVAL), "the numbers are possible")
        let isGranted = refusals.isEmpty
        #expect(String(decoding: read, as: UTF8.self).contains(": 100000/1000000/2000000") == isGranted)
    }

    private static let chrt = "/usr/bin/chrt"
    private static let hasReader = unsafe access(chrt, X_OK) == 0

    /// The last number is the greatest that the kernel could have.
    @Test(arguments: [40_000, 65_535])
    func anOptionThatIsRefusedLeavesAServiceThatTicks(processor: Int) throws {
        let service = try TimerService(.timerFD, thread: Options(affinity: [Self.processor, processor]))
        let item = try #require(service.grant.refusals.first)
        #expect(item.option == .affinity)
        #expect(item.asked == "\(Self.processor),\(processor)")
        #expect(item.refusal?.errno == EINVAL)
        #expect(item.advice?.contains("nproc") == true)
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 3 })
    }

    @Test func aRequiredOptionThatIsRefusedFailsTheStart() throws {
        let error = #expect(throws: TimerError.self) {
            try TimerService(.timerFD, thread: Options(affinity: [40_000], demand: .required))
        }
        #expect(error?.errno == EINVAL)
        #expect(error?.attempted.contains("40000") == true)
        #expect(error?.attempted.contains("nproc") == true)
        let possible = Options(affinity: [Self.processor], demand: .required)
        #expect(try TimerService(.timerFD, thread: possible).grant.refusals == [])
    }

    @Test(arguments: [
        Options(policy: .fifo(priority: 0)), Options(policy: .fifo(priority: 100)),
        Options(policy: .roundRobin(priority: -1)), Options(policy: .roundRobin(priority: .max)),
        Options(affinity: [-1]), Options(affinity: [1 << 20]),
        Options(timerSlack: .zero), Options(timerSlack: .seconds(-1)), Options(idleLatency: .nanoseconds(-1)),
        Options(idleLatency: .seconds(Int64.max)),
        Options(slice: .microseconds(99)), Options(slice: .milliseconds(101)), Options(slice: .seconds(-1)),
        Options(policy: .deadline(runtime: .seconds(2), deadline: .seconds(1), period: .seconds(1))),
        Options(policy: .deadline(runtime: .zero, deadline: .seconds(1), period: .seconds(1))),
        Options(policy: .deadline(runtime: .seconds(1), deadline: .seconds(2), period: .seconds(1))),
        Options(policy: .deadline(runtime: .seconds(1), deadline: .seconds(1), period: .seconds(Int64.max))),
    ])
    func nonsenseIsRefusedOnEveryBackend(options: Options) throws {
        for backend in Backend.available {
            let error = #expect(throws: TimerError.self) { try TimerService(backend, thread: options) }
            #expect(error?.code == .invalidOption)
        }
        #expect(throws: TimerError.self) { try options.applyToCallingThread() }
    }

    /// A service that is started again makes its settings anew.
    @Test func onlyTheLastOutcomeOfASettingIsKept() async throws {
        let setup = ThreadSetup([.timerSlack(5), .affinity([40_000])])
        try await onOwnThread { for _ in 0..<3 { setup.makeCallingThread() } }
        #expect(setup.outcomes.mapValues { $0.refusal == nil } == ["timer slack": true, "affinity": false])
    }

    /// No state that is slower than asked for.
    @Test func anIdleLatencyIsRoundedDownToMicroseconds() async throws {
        let options = Options(idleLatency: .nanoseconds(1_999))
        let grant = try await onOwnThread { try options.applyToCallingThread() }
        #expect(grant.items.map(\.asked) == ["1 µs"])
    }

    @Test func aThreadOfTheHostCanAskForTheSame() async throws {
        let options = Options(affinity: [Self.processor], timerSlack: .nanoseconds(5), idleLatency: .zero)
        let (grant, slack) = try await onOwnThread {
            (try options.applyToCallingThread(), ProcFS.timerSlack(of: ProcFS.callingThread))
        }
        #expect(slack == 5)
        #expect(grant.items.map(\.option) == [.timerSlack, .affinity, .idleLatency])
        #expect(grant.refusals.map(\.option) == [.idleLatency])
        #expect("\(grant)".contains("only a service holds it"))
        #expect(try await onOwnThread { try Options().applyToCallingThread() }.items == [])
        let required = Options(idleLatency: .zero, demand: .required)
        #expect(throws: TimerError.self) { try required.applyToCallingThread() }
    }

    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func roundRobinIsGrantedToo() throws {
        let service = try TimerService(.timerFD, thread: Options(policy: .roundRobin(priority: 3)))
        #expect(service.grant.refusals == [])
        let own = try onThread(of: service) { ProcFS.schedulingOfCallingThread }
        #expect(own == ProcFS.Scheduling(policy: SCHED_RR, priority: 3))
    }

    @Test func anAffinityThatIsRefusedLeavesTheThreadWhereItWas() throws {
        let usual = try onThread(of: TimerService(.usual)) { ProcFS.processors }
        let service = try TimerService(.timerFD, thread: Options(affinity: [Self.processor, 40_000]))
        #expect(try onThread(of: service) { ProcFS.processors } == usual)
    }

    @Test func dispatchCannotBeRequiredToBeRealTime() throws {
        let options = Options(policy: .fifo(priority: 3), demand: .required)
        let error = #expect(throws: TimerError.self) { try TimerService(.dispatch, thread: options) }
        #expect(error?.code == .unavailable)
        #expect(try TimerService(.dispatch, thread: Options(demand: .required)).grant.items == [])
    }

    @Test(.enabled(if: mayLimitIdleLatency, "needs the right to write /dev/cpu_dma_latency"))
    func theIdleLatencyIsHeldWhileTheServiceRuns() throws {
        let path = "/dev/cpu_dma_latency"
        let service = try TimerService(.dispatch, thread: Options(idleLatency: .zero))
        #expect(service.grant.refusals == [])
        #expect(ProcFS.openDescriptors(on: path) == 1)
        service.shutdown()
        #expect(ProcFS.openDescriptors(on: path) == 0)
        #expect(throws: TimerError.self) {
            try TimerService(.timerFD, thread: Options(affinity: [40_000], idleLatency: .zero, demand: .required))
        }
        #expect(ProcFS.openDescriptors(on: path) == 0)
    }
}
#endif
