# The front door. Each word below is one script in scripts/; `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help run build test test-clients check chaos debug bench format packages seastar install uninstall clean

help: ## list these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: ## set up everything, build, and serve on 127.0.0.1:6380 (options: make run ARGS="--port 7000")
	@scripts/run $(ARGS)

build: ## set up everything and build build/release/lockkeeper
	@scripts/build release lockkeeper

test: ## set up everything and run all tests (one: make test ARGS="-R parser")
	@scripts/test release $(ARGS)

test-clients: ## run real lock libraries against Redis and Lockkeeper (one: make test-clients ARGS="redisson")
	@scripts/test-clients $(ARGS)

check: ## formatting, all tests, a short fuzz: what a change must pass
	@scripts/format --check
	@scripts/test release
	@scripts/fuzz

chaos: ## locks while all else fails, for long (CHAOS_SEEDS="1 2 3", CHAOS_SECONDS=120)
	@CHAOS_SEEDS="$${CHAOS_SEEDS:-$$(seq -s ' ' 20)}" CHAOS_SECONDS="$${CHAOS_SECONDS:-60}" \
	  scripts/test release -R e2e_chaos --timeout 86400 -V

debug: ## build with the address and undefined-behaviour sanitizers and run the tests on it
	@scripts/test debug $(ARGS)

bench: ## build, run the benchmarks, write a report (40 minutes; BENCH=quick: 12; one: make bench ARGS="peers")
	@BENCH=$(BENCH) scripts/bench $(ARGS)

format: ## format the sources
	@scripts/format

packages: ## install the Debian packages that building and testing need
	@scripts/setup build test check debug

seastar: ## build Seastar into the cache
	@scripts/setup build
	@scripts/seastar release

install: build ## install the binary, the example configuration and the systemd unit (PREFIX=/usr/local)
	@cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

uninstall: ## remove what was installed, but for the configuration (PREFIX=/usr/local)
	@scripts/uninstall $(or $(PREFIX),/usr/local)

clean: ## remove what was built here (the Seastar cache stays)
	@rm -rf build
