/// What the results of `ReportTests` look like, to the letter.
enum Golden {
    /// The table, without its legend.
    static let table = """
        A timer every 1ms, 3 rounds of 40ms for each row, which take turns
        Linux 6.1 x86_64, 2 processors (A CPU), release build

                                      ───── lateness (µs) ─────  jitter  ─── drift ───   CPU  wake-ups  ─ × floor ─
        backend        ticks  missed  p50  p90  p99  p99.9  max    (µs)  (ppm)  ±noise   (%)  per tick    p50   p99
        timerfd          120       0  0.4  3.0  3.0    3.0  3.0     1.3    0.0     0.0  1.00      1.00   2.00  2.00
        floor-timerfd    120       0  0.2  0.3  0.3    0.3  0.3     0.1    0.0     0.0  1.00      1.00   1.00  1.00
        """

    /// The JSON.
    static let json = """
        {
          "host" : {
            "build" : "release",
            "cpu_model" : "A CPU",
            "kernel_release" : "6.1",
            "machine" : "x86_64",
            "os" : "Linux",
            "processors_online" : 2
          },
          "options" : {
            "backends" : [
              "timerfd"
            ],
            "duration_ns" : 40000000,
            "period_ns" : 1000000,
            "rounds" : 3
          },
          "rows" : [
            {
              "cpu_percent" : 1,
              "drift_noise_ppm" : 0,
              "drift_ppm" : 0,
              "early" : 0,
              "end_offset_ns" : 0,
              "kind" : "backend",
              "lateness_ns" : {
                "max" : 3000,
                "mean" : 1200,
                "min" : 200,
                "p50" : 400,
                "p90" : 3000,
                "p99" : 3000,
                "p999" : 3000,
                "stddev" : 1275.4
              },
              "missed" : 0,
              "name" : "timerfd",
              "period_ns" : 1000000,
              "ratio_to_floor" : {
                "p50" : 2,
                "p99" : 2
              },
              "ticks" : 120,
              "wakeups_per_tick" : 1
            },
            {
              "cpu_percent" : 1,
              "drift_noise_ppm" : 0,
              "drift_ppm" : 0,
              "early" : 0,
              "end_offset_ns" : 0,
              "kind" : "reference",
              "lateness_ns" : {
                "max" : 300,
                "mean" : 200,
                "min" : 100,
                "p50" : 200,
                "p90" : 300,
                "p99" : 300,
                "p999" : 300,
                "stddev" : 81.6
              },
              "missed" : 0,
              "name" : "floor-timerfd",
              "period_ns" : 1000000,
              "ratio_to_floor" : {
                "p50" : 1,
                "p99" : 1
              },
              "ticks" : 120,
              "wakeups_per_tick" : 1
            }
          ],
          "schema" : 1
        }
        """
}
