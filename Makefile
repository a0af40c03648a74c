# A thin door to CMake and the tools. `make` alone says what there is.
.DEFAULT_GOAL := help
.PHONY: help setup setup-run build tests everything run demo play test bench e2e soak fuzz asan tsan lint package clean

# Each target first installs the Debian packages that it needs and that are missing: `setup-run` those of
# the service, `setup` also those of its tests and checks. To look takes less than a tenth of a second.
# Cache hits do not depend on where the tree lies.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
FUZZ_SECONDS ?= 60
CONFIGURE = mkdir -p build && cmake --preset $(1) -S . >build/configure-$(1).log || (cat build/configure-$(1).log; exit 1)

help:  ## this list
	@echo "Subak: shares a GPU fleet fairly. Targets:"
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup-run:
	@tools/setup --run

setup:  ## install missing Debian packages (every other target installs what it needs)
	@tools/setup

build: setup-run  ## optimised binaries at build/bin/subakd and build/bin/subak
	@tools/build subakd subak

# Also the tests.
tests: setup
	@tools/build --tests all

# Also the benchmarks and their tools.
everything: setup
	@tools/build --tests all benches

run: build  ## the service in the foreground, state under var/
	build/bin/subakd $(ARGS)

demo: setup-run  ## a minute of the real service with a bundled fleet; exit 0 only if every figure holds
	@tools/build subakd subak-demo
	@tools/demo

play: setup-run  ## the service with a played cluster, to try the README's "Use it"; Ctrl-C ends it
	@tools/build subakd subak subak-play
	@tools/play

test: tests  ## all tests that need only Debian's packages
	@ctest --preset release -j "$$(( 2 * $$(nproc) ))"

bench: everything  ## benchmarks beside their physical limits; writes build/bench.json
	@tools/bench

soak: everything  ## the long form of the tests, each under 3 hours, seeds printed (PART=NAME for one)
	@tools/soak $(PART)

asan: setup  ## all tests under AddressSanitizer and UBSan
	@$(call CONFIGURE,asan)
	@cmake --build --preset asan
	@ctest --preset asan -j "$$(nproc)"

tsan: setup  ## the tests without gRPC under ThreadSanitizer
	@$(call CONFIGURE,tsan)
	@cmake --build --preset tsan
	@ctest --preset tsan -j "$$(nproc)"

fuzz: setup  ## every fuzzer for FUZZ_SECONDS (default 60) each
	@$(call CONFIGURE,fuzz)
	@cmake --build --preset fuzz
	@tools/fuzz build/fuzz $(FUZZ_SECONDS)

lint: everything  ## house checks, formatting, clang-tidy of what changed (LINT=--all: of everything)
	@tools/lint $(LINT)

e2e: setup-run  ## against a real kube-apiserver and kube-scheduler; needs Go (ARGS="-k WORD")
	@tools/build subakd subak
	@kubernetes=$$(tests/e2e/build) && tests/e2e/e2e_test.py --kubernetes "$$kubernetes" $(ARGS)

package: build  ## a Debian package, and a container image with its bill of materials, in build/package
	@tools/package

clean:  ## remove build/ (state under var/ stays)
	rm -rf build
