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

# The libevent backend is built with libevent's headers.
sudo := $(if $(filter 0,$(shell id -u)),,sudo)
libevent:
	@pkg-config --exists libevent_core libevent_pthreads 2>/dev/null || { \
	    command -v apt-get >/dev/null || { \
	        echo "libevent's headers are missing, and apt-get is not here to install them: use your package manager," >&2; \
	        echo "or do without the libevent backend: swift build --disable-default-traits" >&2; \
	        exit 1; \
	    }; \
	    $(sudo) apt-get update -qq && $(sudo) apt-get install -y -qq libevent-dev pkg-config; \
	}
