import PreciseTimer
import Testing
import TimerProbe
import TimerResults

struct SampleLinesTests {
    @Test func everyTickIsALine() {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1_000_000)
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 55_123))
        recording.record(Recorded.arrival(1, of: deadlines, lateness: -7))
        var arrival = Recorded.arrival(2, of: deadlines, lateness: 3_500_000, missed: 3)
        arrival.woke = TimerInstant(nanoseconds: arrival.delivered.nanoseconds - 1000)
        recording.record(arrival)
        let turn = Turn([recording, Recorded.recording([0])])
        let key = RowKey(row: "timerfd#2", kind: .backend, load: "cpu:2")
        #expect(
            SampleLines.header + SampleLines.lines(turn, of: key, lap: 3) == """
                lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed
                3,timerfd#2,cpu:2,1,0,1000000000,55123,55123,0
                3,timerfd#2,cpu:2,1,1,1001000000,-7,-7,0
                3,timerfd#2,cpu:2,1,2,1002000000,3499000,3500000,3
                3,timerfd#2,cpu:2,2,0,1000000000,0,0,0

                """
        )
    }
}
