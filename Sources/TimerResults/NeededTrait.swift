// Without the trait, SwiftPM brings none of the packages that the instrument imports.
#if !Instrument
#error("BackendComparison and compare-backends need traits: [\"Instrument\"] where the package precise-timer is named")
#endif
