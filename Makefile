# The front door. Every command here is short; what it runs is in tools/, bench/ and CMakePresets.json.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The CMake preset to build and test with, and how many jobs.
PRESET ?= release
JOBS ?= $(shell nproc)
# Where HyperProtoBench's published messages lie; without it, generated messages of the same shape are used.
HYPERPROTOBENCH ?=

BUILD := build/$(PRESET)
HPB_CMAKE := $(if $(filter release,$(PRESET)),-DHYPERPROTOBENCH=$(if $(HYPERPROTOBENCH),$(abspath $(HYPERPROTOBENCH))))
# A protobuf source tree; the codec benchmark then compares with its upb (docs/benchmarks.md).
UPB_SRC ?=
UPB_CMAKE := $(if $(filter release,$(PRESET)),-DUPB_SRC=$(if $(UPB_SRC),$(abspath $(UPB_SRC))))
# Rounds of fit-cpu-costs over the workload.
ROUNDS ?= 400
# The peers of bench-echo (docs/benchmarks.md): `all`, or names; without it, gRPC C++'s two servers.
PEERS ?=
HPB_ARGS := $(if $(HYPERPROTOBENCH),--hyperprotobench $(abspath $(HYPERPROTOBENCH)))

# Of `make soak`.
MINUTES ?= 10
SEED ?=

.PHONY: help soak setup configure build demo test check test-interop package test-package test-long bench bench-codec bench-echo bench-stream bench-tls bench-rtl bench-lines reproduce-rpcnic reproduce-dagger bench-dagger fit-cpu-costs synth prove format check-format tidy clean

help: ## list the targets
	@echo 'usage: make TARGET [PRESET=release|gcc|debug|asan|tsan] [JOBS=N] [HYPERPROTOBENCH=DIR] [UPB_SRC=DIR] [PEERS=all]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | column -t -s '|'

setup: ## install the Debian packages that are missing, make .venv, fetch the stock clients of the tests
	@tools/setup.sh --tests

configure:
	@tools/setup.sh
	@cmake --preset $(PRESET) $(HPB_CMAKE) $(UPB_CMAKE) >build/configure.log

build: configure ## build everything
	@cmake --build --preset $(PRESET) -j $(JOBS)

demo: configure ## stock gRPC clients call a service under Drover; then one table beside gRPC C++
	@.venv/bin/python tools/demo.py --build-dir $(BUILD) --jobs $(JOBS)

test: setup configure ## build everything and run all tests but the long ones
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ctest --preset $(PRESET) -LE '^long$$' --progress -j 2

check: configure ## build and run the unit tests of what differs from main, or from the last commit
	@.venv/bin/python tools/check.py --build-dir $(BUILD) --jobs $(JOBS)

test-interop: ## gRPC's official interop client (Go) and clients in further languages against a server on Drover and one on gRPC C++
	@tools/setup.sh --interop
	@cmake --preset $(PRESET) >build/configure.log
	@cmake --build --preset $(PRESET) -j $(JOBS) --target droverd interop_server interop_server_grpc
	@.venv/bin/python -m pytest -q -p no:cacheprovider tests/test_interop.py --build-dir=$(BUILD)

soak: configure ## all kinds of calls for MINUTES while hosts and engines are killed, each answer checked (SEED=n repeats the choices), into build/soak/
	@cmake --build --preset $(PRESET) -j $(JOBS) --target droverd --target test_server --target drover-load
	@.venv/bin/python -B tests/soak/run.py --build-dir $(BUILD) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --json build/soak/soak.json

package: ## Debian packages of the engine and of what services build with, into build/packages
	@tools/setup.sh
	@cmake --preset package >build/configure-package.log
	@cmake --build --preset package -j $(JOBS)
	@rm -rf build/packages && cd build/package && cpack >cpack.log || { tail -n 20 cpack.log >&2; exit 1; }
	@ls -l build/packages/*.deb

test-package: package ## install the packages over a copy of this machine's root, use them, remove them (as root)
	@.venv/bin/python tests/packages/run.py --source . --packages build/packages

test-long: setup configure ## build everything and run the long tests: random runs, further compilers, attacks on a sanitized engine
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ctest --test-dir $(BUILD) -L '^long$$' --no-tests=error --output-on-failure --progress -j 2
	@cmake --preset asan >build/configure-asan.log
	@cmake --build --preset asan -j $(JOBS) --target droverd test_server hostile_image
	@ctest --preset asan -R '^e2e_hostile$$' --no-tests=error --output-on-failure

bench-echo: configure ## echo on Drover and on gRPC C++ (PEERS=all: tonic, grpc-go too), into build/bench/echo.json
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@.venv/bin/python bench/run_echo.py --build-dir $(BUILD) --jobs $(JOBS) $(if $(PEERS),--peers $(PEERS)) \
	  $(HPB_ARGS)

bench-stream: configure ## echo on bidirectional streams, on Drover and on gRPC C++, into build/bench/stream.json
	@cmake --build --preset $(PRESET) -j $(JOBS) --target droverd echo_server grpc_async_server grpc_callback_server drover-load drover-echo-body
	@.venv/bin/python bench/run_echo.py --set stream --build-dir $(BUILD)

bench-tls: configure ## echo over TLS 1.3 on Drover and on gRPC C++, into build/bench/tls.json
	@cmake --build --preset $(PRESET) -j $(JOBS) --target droverd --target echo_server --target grpc_async_server \
	  --target grpc_callback_server --target drover-load --target drover-echo-body
	@.venv/bin/python bench/run_tls.py --build-dir $(BUILD)

bench-codec: configure ## decode and encode beside protobuf C++ and upb, into build/bench/codec.json
	@cmake --build --preset $(PRESET) -j $(JOBS) --target codec_bench
	@.venv/bin/python bench/run_codec.py --build-dir $(BUILD) $(HPB_ARGS)

bench-rtl: configure ## cycles and area of the RTL engines beside the goals, into build/bench/rtl.json
	@cmake --build --preset $(PRESET) -j $(JOBS) --target rtl_rows
	@.venv/bin/python bench/run_rtl.py --build-dir $(BUILD) $(HPB_ARGS)

reproduce-rpcnic: configure ## RpcNIC's figures on the simulated systems, beside what the paper says
	@cmake --build --preset $(PRESET) -j $(JOBS) --target drover
	@.venv/bin/python bench/reproduce_rpcnic.py --drover $(BUILD)/cli/drover --jobs $(JOBS) $(HPB_ARGS)

reproduce-dagger: configure ## Dagger's figures on the simulated systems, beside what the paper says
	@cmake --build --preset $(PRESET) -j $(JOBS) --target drover
	@.venv/bin/python bench/reproduce_dagger.py --drover $(BUILD)/cli/drover --jobs $(JOBS)

bench-dagger: configure ## calls through the simulated NIC beside the Dagger paper, into build/bench/dagger.json; bench-lines adds its rows, and those of the RTL are what bench-rtl and synth measured
	@cmake --build --preset $(PRESET) -j $(JOBS) --target drover
	@.venv/bin/python bench/reproduce_dagger.py --drover $(BUILD)/cli/drover --jobs $(JOBS) --bench build/bench/dagger.json

fit-cpu-costs: configure ## what the codecs cost this machine's CPU, warm and cold: the stated costs of drover sim
	@cmake --build --preset $(PRESET) -j $(JOBS) --target cpu_costs --target core_costs
	@$(BUILD)/bench/sim/core_costs
	@.venv/bin/python bench/sim/fit_cpu_costs.py --program $(BUILD)/bench/sim/cpu_costs --rounds $(ROUNDS) \
	  --out build/bench/cpu_costs.json $(HPB_ARGS)

synth: configure ## LUT, FF, BRAM and the longest logic path of the RTL, by yosys, into build/bench/synth.json
	@cmake --build --preset $(PRESET) -j $(JOBS) --target drover_formats
	@.venv/bin/python tools/synth_rtl.py --packages $(BUILD)/formats/sv/*.sv --json build/bench/synth.json

prove: ## prove properties of the RTL by yosys and ABC, and see that each proof can fail
	@tools/setup.sh
	@.venv/bin/python tools/prove.py --jobs $(JOBS)

bench-lines: configure ## RPC lines through droverd beside the bare ring and bare UDP, into build/bench/dagger.json
	@cmake --build --preset $(PRESET) -j $(JOBS) --target lines_bench --target udp_lines_bench
	@.venv/bin/python bench/run_lines.py --program $(BUILD)/bench/lines_bench
	@.venv/bin/python bench/run_lines.py --program $(BUILD)/bench/udp_lines_bench

bench: bench-codec bench-echo bench-stream ## all benchmarks: bench-codec, bench-echo, and the parts alone
	@tools/bench_parts.sh $(BUILD)

format: ## format all C++ with clang-format-19
	@tools/format.sh

check-format: ## list the C++ files that are not formatted
	@tools/format.sh --check

tidy: build ## run clang-tidy-19 on the C++
	@tools/tidy.sh $(BUILD)

clean: ## remove build/ (the environments stay: .venv, tools/node/node_modules)
	@rm -rf build
