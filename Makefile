# What a newcomer runs: `make compare` and `make test`. Each installs libevent's headers where they are missing.

.PHONY: compare test bench lint libevent

compare: libevent
	swift run -c release compare-backends

test: libevent
	swift test

bench: libevent
	swift run -c release library-benchmarks

lint:
	swift format lint --strict --recursive Sources Tests Benchmarks .ci Package.swift

libevent:
	@pkg-config --exists libevent_core libevent_pthreads 2>/dev/null || Scripts/install-libevent
