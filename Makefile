# What a newcomer runs: `make compare` and `make test`. Each installs libevent's headers where they are missing.

.PHONY: compare test bench examples soak fuzz lint libevent

compare: libevent
	swift run -c release compare-backends

# The second run sets the clock, by an hour and for moments, where it may; it says so where it may not.
test: libevent
	swift test
	PRECISE_TIMER_STEP_CLOCK=1 swift test --skip-build --filter ClockStepTests

# Takes up to a quarter of an hour.
bench: libevent
	swift build -c release --package-path Benchmarks
	swift run -c release --package-path Benchmarks --skip-build benchmarks report --output Documentation/benchmarks.md

examples: libevent
	swift build --package-path Examples
	for example in LibeventLoop PollLoop Timeouts NIOEventLoop AsyncSequences; do \
	    swift run --package-path Examples --skip-build $$example || exit 1; \
	done

# A minute each, or as long as SECONDS says.
SECONDS ?= 60
soak: libevent
	.ci/soak $(SECONDS)

fuzz: libevent
	.ci/fuzz $(SECONDS)

lint:
	swift format lint --strict --recursive Sources Tests .ci Package.swift \
	    Benchmarks/Package.swift Benchmarks/Sources Examples/Package.swift Examples/Sources

# The libevent backend is built with libevent's headers.
sudo := $(if $(filter 0,$(shell id -u)),,sudo)
libevent:
	@pkg-config --exists libevent_core libevent_pthreads 2>/dev/null || { \
	    command -v apt-get >/dev/null || { \
	        echo "libevent's headers are missing, and apt-get is not here to install them: use your package manager," >&2; \
	        echo "or do without the libevent backend: swift build --traits Instrument" >&2; \
	        exit 1; \
	    }; \
	    $(sudo) apt-get update -qq && $(sudo) apt-get install -y -qq libevent-dev pkg-config; \
	}
