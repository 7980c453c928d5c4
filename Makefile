# Everything lives in this tree: the virtual environment in .venv, cargo's output in target.
# Stamps (.venv/.stamp-*, target/.checked-*) record what is up to date.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell command -v $(p))) python3)
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -type f)
SOURCES := conftest.py $(shell find python/switchbed python/tests papers evidence -name '*.py' 2>/dev/null)
PYTEST := $(BIN)/python -m pytest
# Clusters and labs wait more than they compute: two workers more than there are cores.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
PARALLEL := --numprocesses $(WORKERS)
# Dependency groups of pyproject.toml that `make setup` leaves out.
GROUPS := docs cluster peers

# Debian packages that tests and builds need beyond Rust and Python packages.
SYSTEM_PACKAGES := build-essential python3-venv valgrind iproute2 ethtool iperf3 clang libbpf-dev bpftool tshark chromium
# Debian packages that `make validate` and `make bench-peers` need on top.
PEER_PACKAGES := g++ pkg-config libns3-dev libgsl-dev ns2 qemu-system-x86 busybox-static iproute2

# Without compiled modules each of the tests' programs would compile Polars and matplotlib again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := setup
.PHONY: help setup setup-all setup-system setup-peers release pgo demo check test lint lint-rust lint-python \
	lint-ci lint-module lint-fuzz lint-docs instructions format validate \
	bench bench-accept bench-core bench-live bench-memory bench-peers bench-roce bench-sizes wheels deny site size \
	live-papers lock clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | sort | expand -t 16

##@ Set up

setup: .venv/.stamp-module .venv/.stamp-papers ## Install Switchbed, the papers and what tests them into .venv
setup-all: setup .venv/.stamp-groups ## Install the groups docs, cluster and peers as well

.venv/.stamp-packages: requirements/test.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "switchbed needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r $<
	touch $@

.venv/.stamp-groups: .venv/.stamp-packages $(GROUPS:%=requirements/%.lock)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes $(GROUPS:%=-r requirements/%.lock)
	touch $@

# The Python sources are used in place; the module shares its profile, and so its build, with the tests.
.venv/.stamp-module: .venv/.stamp-packages pyproject.toml $(RUST)
	PIP_QUIET=1 $(BIN)/maturin develop --locked --quiet
	touch $@

# The papers are used in place too; they are installed again when their entry points may have changed.
.venv/.stamp-papers: papers/pyproject.toml .venv/.stamp-packages
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable papers
	touch $@

release: setup ## Build the module with link-time optimisation, until the next change of Rust code
	PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet

# A profile is read by the LLVM that wrote it.
LLVM_MAJOR = $(shell rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
LLVM_PROFDATA = $(firstword $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata) \
	$(shell command -v llvm-profdata-$(LLVM_MAJOR)))
PROFILE := $(CURDIR)/target/pgo
pgo: setup ## Build the module by a profile, faster than `make release`
	@test -n "$(LLVM_PROFDATA)" || { echo "$@: needs rustup component add llvm-tools, or llvm-$(LLVM_MAJOR)" >&2; exit 1; }
	rm -rf $(PROFILE)
	RUSTFLAGS=-Cprofile-generate=$(PROFILE) PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	$(BIN)/python -m switchbed.bench.train
	$(LLVM_PROFDATA) merge -o $(PROFILE)/merged.profdata $(PROFILE)
	RUSTFLAGS=-Cprofile-use=$(PROFILE)/merged.profdata PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet

demo: setup ## Run a part of MQ-ECN's figure 9 and draw it
	$(BIN)/python -m switchbed demo

##@ Test

# A crate is tested again when it or a crate that it knows has changed. The package switchbed-python has no tests:
# naming it gives dependencies the features that the module has, so that tests and module share one build.
KNOWS_units := units config qdisc congestion scenario sim live
KNOWS_config := config qdisc congestion scenario sim live
KNOWS_wire := wire sim live
KNOWS_qdisc := qdisc scenario sim live
KNOWS_congestion := congestion scenario sim
KNOWS_scenario := scenario sim live
KNOWS_sim := sim
KNOWS_live := live
crates = $(sort $(foreach c,$(sort $(foreach f,$(filter crates/%,$(1)),$(word 2,$(subst /, ,$(f))))),$(KNOWS_$(c))))

check: target/.checked-rust target/.checked-python ## Lint and test what has changed since it last passed

target/.checked-rust: $(RUST)
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	$(if $(call crates,$?),cargo test --locked --quiet --tests $(patsubst %,--package switchbed-%,python $(call crates,$?)))
	@mkdir -p target && touch $@

target/.checked-python: $(SOURCES)
	@$(MAKE) --no-print-directory setup
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(PYTEST) --quiet $(PARALLEL) --dist worksteal $$($(BIN)/python python/tests/support/affected.py $?)
	@mkdir -p target && touch $@

test: setup ## Run all tests but those of `make validate`
	@$(BIN)/python python/tests/support/needs.py
	cargo test --locked --quiet --workspace
	$(PYTEST) --quiet $(PARALLEL) --dist loadfile --no-loadscope-reorder python/tests papers/tests

# Cargo's part and Python's wait for each other nowhere: `make --jobs=2 lint` has both cores at work.
lint: lint-rust lint-python ## Check formatting, lints, types and imports

lint-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

# The module may not be built yet.
lint-python: .venv/.stamp-papers
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-logo

lint-ci: lint-module lint-fuzz lint-docs instructions ## Check the module without the live switch, fuzz targets, links of doc comments, instructions a packet-hop

lint-module:
	cargo clippy --locked --package switchbed-python --no-default-features --quiet -- -D warnings

# The fuzz targets are outside the workspace: they are checked, and not linked.
lint-fuzz:
	CUSTOM_LIBFUZZER_PATH=target/none cargo check --locked --quiet --manifest-path fuzz/Cargo.toml --target-dir target

lint-docs:
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --quiet

instructions: setup
	$(PYTEST) --quiet -m long python/tests/rules/test_instructions.py

format: setup ## Format all code
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

##@ Measure and release

bench: release ## Measure the simulator and its parts
	$(BIN)/switchbed bench
	cargo bench --locked --bench '*'

bench-core: release ## Measure figure 9 in units of a loop that runs in turn with it (ten minutes)
	$(BIN)/python -m evidence.bench.core $(ROUNDS)

bench-sizes: release ## Measure the cost by hosts, flows, queues and schemes (half an hour)
	$(BIN)/python -m evidence.bench.sizes $(REPEATS)
	$(BIN)/python -m evidence.bench.schemes

bench-roce: release ## Measure RoCE beside TCP on 320 hosts (REPEATS=n, default five)
	$(BIN)/python -m evidence.bench.roce --cost $(REPEATS)

bench-live: setup ## Measure the live switch beside the kernel's bridge, as root (REPEATS=n, default five)
	$(BIN)/python -m evidence.bench.live $(REPEATS)

bench-memory: release ## Measure memory by flow, connection, sample and captured packet
	$(BIN)/python -m evidence.bench.memory

bench-accept: setup ## Make today's instruction counts the committed ones (in a commit of its own)
	SWITCHBED_ACCEPT_COUNTS=1 $(BIN)/python -m pytest --quiet -m long python/tests/rules/test_instructions.py

validate: setup-all ## Run what takes longer than `make test` may (STEPS='fuzz mutants' for some)
	$(BIN)/python -m evidence.validate $(STEPS)

wheels: setup ## Build the release, install it in fresh environments and try it away from the tree
	LLVM_PROFDATA=$(LLVM_PROFDATA) $(BIN)/python -m evidence.robustness.wheels
	cargo package --workspace --exclude own-scheme --exclude switchbed-python --quiet

deny: ## Check licences, sources and advisories of dependencies
	@command -v cargo-deny >/dev/null || { echo "$@: needs cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check --hide-inclusion-graph bans licenses sources
	@if cargo deny --log-level off fetch db; then cargo deny --locked check advisories; \
	else echo "$@: advisories are unchecked: their data base cannot be had here" >&2; fi

bench-peers: release ## Measure beside ns-3 and ns-2, in turn (ROUNDS=n, default five)
	$(BIN)/python -m evidence.bench.peers $(ROUNDS)

site: setup-all ## Build the documentation in target/site, generated pages and pictures included
	$(BIN)/python docs/generate.py target/site-source
	$(BIN)/sphinx-build -W --keep-going -q -b html -d target/site-trees target/site-source target/site

size: setup ## Count tracked files and words and time the loops (SIZE='--timed --base main')
	$(BIN)/python -m evidence.size $(SIZE)

live-papers: setup ## Run the papers' testbed figures as labs (as root, half an hour)
	$(BIN)/switchbed live dctcp load
	$(BIN)/switchbed live papers --out target/live-papers --commit

UV_COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
	--python-version 3.11 --custom-compile-command 'make lock'
lock: setup ## Pin new versions of every Python package, for all platforms, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(UV_COMPILE) --upgrade $(patsubst %,--group %,test $(GROUPS)) pyproject.toml --output-file target/all.lock
	for group in test $(GROUPS); do \
		$(UV_COMPILE) --constraint target/all.lock --group $$group $$(test $$group != test || echo pyproject.toml) \
			--output-file requirements/$$group.lock || exit 1; \
	done
	$(UV_COMPILE) --constraint target/all.lock pyproject.toml --output-file requirements/product.lock

# Installs the Debian packages $(1) that are missing, for the target $@.
define install
	@command -v apt-get >/dev/null || { echo "$@: needs Debian's apt-get; install the like of: $(1)" >&2; exit 1; }
	@missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -z "$$missing" ]; then echo "$@: $(1): installed"; exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "$@: run it as root (sudo make $@): it installs" $$missing >&2; exit 1; fi; \
	echo "$@: installs" $$missing; \
	apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing
endef

setup-system: ## Install Debian packages that tests and builds need (as root)
	$(call install,$(SYSTEM_PACKAGES))

setup-peers: ## Install ns-3, ns-2, qemu and a kernel for `make validate` (as root)
	$(call install,$(PEER_PACKAGES))
	test -x target/peers/wheel/bin/python || $(PYTHON) -m venv target/peers/wheel
	target/peers/wheel/bin/python -m pip install --quiet --upgrade --no-deps ns3 \
		|| echo "$@: no wheel of ns-3 for this Python; bench-peers goes without"
	test -d target/peers/kernel/boot || { rm -rf target/peers/kernel && mkdir -p target/peers/kernel/deb \
		&& cd target/peers/kernel/deb && apt-get download --quiet \
		$$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1) \
		&& dpkg-deb -x *.deb .. ; }

clean: ## Remove everything that was built or installed here
	rm -rf target .venv python/switchbed/*.so
