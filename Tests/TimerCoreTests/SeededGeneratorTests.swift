import Testing
import TimerCore

/// Random numbers are the same on every machine.
struct SeededGeneratorTests {
    @Test func theNumbersAreThoseOfThePublishedGenerator() {
        var random = SeededGenerator(seed: 1_234_567)
        let published: [UInt64] = [
            6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
        ]
        #expect((0..<5).map { _ in random.next() } == published)
    }

    @Test func theSameSeedGivesTheSameNumbers() {
        for seed in [0, 1, .max] as [UInt64] {
            var (one, other) = (SeededGenerator(seed: seed), SeededGenerator(seed: seed))
            #expect((0..<100).allSatisfy { _ in one.next() == other.next() })
        }
    }

    @Test func neighbouringSeedsGiveOtherNumbers() {
        var firsts: Set<UInt64> = []
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            firsts.insert(random.next())
        }
        #expect(firsts.count == 1_000)
    }
}
