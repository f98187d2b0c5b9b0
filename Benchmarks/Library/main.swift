/// The benchmarks of the library: `swift run -c release library-benchmarks`.
print("Medians of interleaved rounds, in nanoseconds per operation (smallest … largest); × is against the first row.")
try QueueBenchmarks.run()
try TimerBenchmarks.run()
try ProbeBenchmarks.run()
