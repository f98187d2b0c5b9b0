# A newcomer runs `make compare` and `make test`. Each target installs libevent's headers if they are missing.

.PHONY: compare test thorough check docs picture bench examples verdicts races soak fuzz hunt lint libevent

# Swift with this project's traits and warnings. Without the variable, SwiftPM 6.3 may order the traits anew for each
# build, and compile everything again: https://github.com/swiftlang/swift-package-manager/issues/10525
swift := .ci/swift
export SWIFT_DETERMINISTIC_HASHING = 1

compare: libevent
	swift run -c release compare-backends

# The second run sets the clock, by an hour and for moments, if it may; otherwise it says that it may not.
test: libevent
	$(swift) test
	PRECISE_TIMER_STEP_CLOCK=1 $(swift) test --skip-build --filter ClockStepTests

# What takes long, besides the tests: other builds, floods, the sanitizers, short searches. A quarter of an hour.
thorough:
	.ci/run no-traits thorough-tests floods soak fuzz thread-sanitizer address-sanitizer

# Build, tests and lint, to run before each commit. All stages: .ci/run
check:
	.ci/run lint tests symbols docs

docs: libevent
	.ci/docs
	.ci/snippets
	@echo "to read it: python3 -m http.server --directory .build/docs 8000"
	@echo "then open http://localhost:8000/documentation/"

# The README's picture, from a file of results with long stretches. Needs Debian's chromium and pngquant.
RESULTS ?= Tests/Samples/idle.json
picture: libevent
	Documentation/maintainers/picture $(RESULTS) Sources/PreciseTimer/PreciseTimer.docc/lateness.png

# Takes up to a quarter of an hour.
bench: libevent
	$(swift) build -c release --package-path Benchmarks
	$(swift) run -c release --package-path Benchmarks --skip-build benchmarks report --output Documentation/benchmarks.md

# Each folder with a @main is a program. CHost is one in C, with its own Makefile.
examples: libevent
	$(swift) build --package-path Examples --build-tests
	for example in $$(cd Examples/Sources && grep -l '^@main' */*.swift | cut -d/ -f1); do \
	    echo "== $$example"; \
	    Examples/.build/debug/$$example || exit 1; \
	done
	$(MAKE) --no-print-directory -C Examples/CHost run SWIFT='$(abspath $(swift))'
	$(swift) test --package-path Examples --skip-build

# How far the verdicts of compare-backends can be believed here. Takes half an hour, during which nothing else may run.
verdicts: libevent
	Benchmarks/verdicts

# The instrument's own threads under the thread sanitizer. Takes some 7 minutes.
races: libevent
	$(swift) test --sanitize=thread --scratch-path .build-races \
	    --filter '[.]ProbeTests|TaskSleepTests|StretchTests'

# A minute each, or SECONDS.
SECONDS ?= 60
soak: libevent
	$(swift) run -c release -Xswiftc -enable-testing timer-soak --seconds $(SECONDS) $(OPTIONS)

fuzz: libevent
	.ci/fuzz $(SECONDS)

# Random models with seeds that no test has tried, in release builds; HOURS of them, or until a difference is found.
HOURS ?= 1
hunt: libevent
	$(swift) build -c release -Xswiftc -enable-testing --build-tests
	end=$$(($$(date +%s) + $(HOURS) * 3600)); while [ $$(date +%s) -lt $$end ]; do \
	    PRECISE_TIMER_THOROUGH=1 PRECISE_TIMER_SEED=$$(od -An -N6 -tu8 /dev/urandom | tr -d ' ') $(swift) test -c release \
	        -Xswiftc -enable-testing --skip-build --filter OtherSeeds || exit 1; \
	done

lint:
	swift format lint --strict --recursive Sources Tests .ci Package.swift \
	    Benchmarks/Package.swift Benchmarks/Sources Examples/Package.swift Examples/Sources \
	    Examples/Tests
	@! LC_ALL=C.UTF-8 git grep -nE '^.{121,}' -- '*.swift' README.md CONTRIBUTING.md CHANGELOG.md .ci Makefile \
	    Tests/Refusals || \
	    { echo "these lines have more than 120 columns" >&2; exit 1; }
	# An older compiler refuses an expression that this one just manages. The bound counts steps of the solver, not time.
	swiftc -typecheck -swift-version 6 -package-description-version 6.2.0 -Xfrontend -solver-scope-threshold=1000 \
	    -I "$$(dirname "$$(dirname "$$(readlink -f "$$(command -v swiftc)")")")/lib/swift/pm/ManifestAPI" Package.swift
	.ci/rooms
	.ci/mutations --check

# Without libevent's headers, the libevent backend is left out. SwiftPM must forget that they were missing.
sudo := $(if $(filter 0,$(shell id -u)),,sudo)
libevent:
	@[ "$$(uname)" != Linux ] || pkg-config --exists libevent_core libevent_pthreads 2>/dev/null || { \
	    command -v apt-get >/dev/null || { \
	        echo "without the libevent backend: libevent's headers are missing, and so is apt-get" >&2; \
	        exit 0; \
	    }; \
	    $(sudo) apt-get update -qq && $(sudo) apt-get install -y -qq libevent-dev pkg-config && \
	        swift package purge-cache && swift package clean; \
	}
