import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// What a measurement asks of the system, in text and in its plan.
struct SystemWishesTests {
    typealias Policy = TimerService.ThreadOptions.Policy

    @Test(arguments: [
        ("fifo:80", Policy.fifo(priority: 80)), ("rr:1", .roundRobin(priority: 1)),
        (
            "deadline:200us:500us:1ms",
            .deadline(runtime: .microseconds(200), deadline: .microseconds(500), period: .milliseconds(1))
        ),
        // The library refuses these.
        ("fifo:100", .fifo(priority: 100)), ("fifo:-1", .fifo(priority: -1)),
    ])
    func aPolicyIsReadAndWritten(text: String, policy: Policy) throws {
        #expect(try Policy.parse(text) == policy)
        #expect(policy.text == text)
    }

    @Test(arguments: [
        "", "fifo", "fifo:", "fifo:x", "fifo:1:2", "FIFO:1", "rr", "normal", "deadline", "deadline:1ms:1ms",
        "deadline:1:2:3", "deadline:1ms:1ms:1ms:1ms", " fifo:1",
    ])
    func otherPoliciesAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Problem.self) { try Policy.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    @Test(
        arguments: [
            ("1", [1], "1"), ("0,2-3", [0, 2, 3], "0,2-3"), ("3,2,0", [0, 2, 3], "0,2-3"), ("5-5", [5], "5"),
            ("1,1", [1], "1"), ("65535", [65_535], "65535"),
        ] as [(String, Set<Int>, String)]
    )
    func processorsAreReadAndWrittenInOrder(text: String, processors: Set<Int>, canonical: String) throws {
        #expect(try ProcessorsText.parse(text) == processors)
        #expect(ProcessorsText.format(processors) == canonical)
    }

    @Test(arguments: ["", ",", "1,", "-1", "1-", "3-1", "1-2-3", "x", "65536", "0-99999999999999999999", "1 2", "0x1"])
    func otherProcessorsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Problem.self) { try ProcessorsText.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    private static let all: SystemWishes = {
        var wishes = SystemWishes()
        wishes.options = TimerService.ThreadOptions(
            policy: .fifo(priority: 80),
            affinity: [0, 2, 3],
            timerSlack: .nanoseconds(1),
            slice: .zero,
            locksMemory: true,
            idleLatency: .zero
        )
        wishes.maximumSpin = .microseconds(100)
        wishes.cpuBudget = 0.025
        return wishes
    }()

    @Test func wishesAreWrittenAsOnTheCommandLine() {
        #expect(SystemWishes().texts.isEmpty)
        #expect(
            Self.all.texts == [
                "--realtime fifo:80", "--affinity 0,2-3", "--timer-slack 1ns", "--slice 0", "--lock-memory",
                "--idle-latency 0",
                "--maximum-spin 100us", "--cpu-budget 2.5%",
            ]
        )
        #expect(Self.all.arguments.count == 15)
    }

    @Test func aPlanCarriesTheWishes() throws {
        let plan = try Short.plan(Row.of([.timerFD, .hybrid])) { $0.wishes = Self.all }
        #expect(plan.wishes == Self.all)
        #expect(plan.options.system == Self.all.texts)
        #expect(plan.wishes.spin == TimerService.SpinOptions(maximum: .microseconds(100), budget: 0.025))
        #expect(try Short.plan(Row.of([.timerFD])).options.system == nil)
    }

    @Test func aSpinIsForHybridOnly() {
        for change: (inout SystemWishes) -> Void in [{ $0.cpuBudget = 0.1 }, { $0.maximumSpin = .zero }] {
            let problem = #expect(throws: Problem.self) {
                try Short.plan(Row.of([.timerFD])) { change(&$0.wishes) }
            }
            #expect(problem?.description.contains("hybrid") == true)
        }
    }

    private static let rows = [
        Row(.backend(.timerFD)), Row(.backend(.dispatch)), Row(.backend(.hybrid)), Row(.peer(.taskSleep)),
        Row(.reference(.nanosleep)), Row(.reference(.timerFD)), Row(.referee),
    ]

    private static func grants(_ change: (inout SystemWishes) -> Void) throws -> [Grant] {
        try Grant.asking(for: try Short.plan(rows) { change(&$0.wishes) })
    }

    @Test func aPlanWithoutWishesAsksNothing() throws {
        #expect(try Self.grants { _ in }.isEmpty)
    }

    /// Setting the timer slack needs no privilege, and there is no processor of that number.
    @Test func grantsSayWhichRowsObtainedAnOption() throws {
        let grants = try Self.grants { wishes in
            wishes.options.affinity = [4095]
            wishes.options.timerSlack = .microseconds(1)
            wishes.cpuBudget = 0.2
        }
        #expect(grants.map(\.asked) == ["--affinity 4095", "--timer-slack 1us", "--cpu-budget 20%"])
        let own = ["timerfd", "hybrid", "floor-nanosleep", "floor-timerfd"]
        let others = [["dispatch"], ["peer-task-sleep"], ["cyclictest"]]
        try #require(grants.count == 3)
        #expect(grants[0].obtained.isEmpty)
        #expect(grants[0].refused.map(\.rows) == [own] + others)
        let refusal = try #require(grants[0].refused.first)
        #expect(refusal.reason.hasPrefix("the system refused it (errno 22: "))
        #expect(refusal.advice?.contains("processors that exist") == true)
        #expect(grants[1].obtained == own)
        #expect(grants[1].refused.map(\.rows) == others)
        #expect(grants[2] == Grant(asked: "--cpu-budget 20%", obtained: ["hybrid"]))
    }

    @Test func theMachineAnswersOnceForAllRows() throws {
        let grants = try Self.grants { $0.options.idleLatency = .microseconds(20) }
        let rows = grants.flatMap { $0.obtained + $0.refused.flatMap(\.rows) }
        #expect(grants.map(\.asked) == ["--idle-latency 20us"])
        #expect(rows == Self.rows.map(\.name))
    }

    @Test(
        arguments: [
            { $0.options.policy = .fifo(priority: 100) }, { $0.options.affinity = [-1] },
            { $0.options.timerSlack = .zero }, { $0.options.slice = .microseconds(1) },
            { $0.options.idleLatency = .seconds(3000) },
            { $0.maximumSpin = .seconds(2) }, { $0.cpuBudget = 0.95 },
        ] as [@Sendable (inout SystemWishes) -> Void]
    )
    func anInvalidOptionIsAProblemOfTheUser(change: @Sendable (inout SystemWishes) -> Void) throws {
        #expect(throws: Problem.self) { try Self.grants(change) }
    }

    @Test(.works("a turn measures real ticks")) func rowsWithRefusedOptionsAreMeasuredAllTheSame() throws {
        let rows = Row.of([.timerFD, .hybrid]) + Reference.allCases.map { Row(.reference($0)) }
        let cells = try Short.measure(rows) { request in
            request.wishes.options.affinity = [4095]
            request.wishes.options.idleLatency = .zero
            request.wishes.maximumSpin = .microseconds(50)
        }
        #expect(cells.count == 4)
        #expect(cells.allSatisfy { $0.ticks > 0 && $0.problem == nil })
        #expect(cells.map { $0.spin != nil } == [false, true, false, false])
    }
}
