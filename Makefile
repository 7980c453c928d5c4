# Everything lives in this tree: the virtual environment in .venv, cargo's output in target.
# Files in .venv named .stamp-* say what is up to date.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell command -v $(p))) python3)
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -type f)

# What tests and builds need beyond Rust and Python packages, as Debian names it.
SYSTEM_PACKAGES := build-essential python3-venv valgrind iproute2 ethtool iperf3 clang libbpf-dev bpftool tshark chromium
# What `make validate` and `make bench-peers` need on top.
PEER_PACKAGES := g++ pkg-config libns3-dev libgsl-dev ns2 qemu-system-x86 busybox-static iproute2

.PHONY: setup pgo setup-system setup-peers demo test test-system bench bench-accept bench-core bench-memory bench-roce bench-sizes bench-peers validate wheels deny lint format docs site pictures figures live-papers lock clean
.DEFAULT_GOAL := setup

setup: .venv/.stamp-module .venv/.stamp-papers

.venv/.stamp-packages: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "switchbed needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	touch $@

# The Python sources are used in place; only the compiled module is ever rebuilt.
.venv/.stamp-module: .venv/.stamp-packages pyproject.toml $(RUST)
	PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	touch $@

# Used in place as well; installed again when its entry points may have changed.
.venv/.stamp-papers: papers/pyproject.toml .venv/.stamp-packages
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable papers
	touch $@

# Builds the module again, by a profile of the benchmarks (about a twentieth faster). The next change of
# the Rust code makes `setup` build it plainly.
LLVM_PROFDATA = $(firstword $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata))
PROFILE := $(CURDIR)/target/pgo
pgo: setup
	@test -n "$(LLVM_PROFDATA)" || { echo "$@: needs rustup component add llvm-tools" >&2; exit 1; }
	rm -rf $(PROFILE)
	RUSTFLAGS=-Cprofile-generate=$(PROFILE) PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	$(BIN)/python -m switchbed.bench python/switchbed/bench/fig9.toml flows=500
	$(BIN)/python -m switchbed.bench python/switchbed/bench/fig9.toml flows=500 load=0.8
	$(BIN)/python -m switchbed.bench python/switchbed/bench/star.toml
	$(LLVM_PROFDATA) merge -o $(PROFILE)/merged.profdata $(PROFILE)
	RUSTFLAGS=-Cprofile-use=$(PROFILE)/merged.profdata PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet

demo: setup
	$(BIN)/python -m switchbed demo

# Clusters and labs wait more than they compute: a worker more than there are cores, and the longest
# files first (conftest.py). Labs go by the clock: what computes is done before them, and
# a card that sends each packet at its time is alone. A busy machine is a slow network: a lab that
# fails has the machine to itself once more.
LIVE_TESTS := python/tests/live
PUNCTUAL := python/tests/live/test_live_react.py
labs = $(BIN)/python -m pytest $(1) $(2) \
	|| { test $$? = 1 && $(BIN)/python -m pytest --last-failed --last-failed-no-failures none $(2); }
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
test: test-system lint
	cargo test --locked
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(LIVE_TESTS:%=--ignore=%)
	$(call labs,--numprocesses $(WORKERS) --dist worksteal,$(filter-out $(PUNCTUAL),$(LIVE_TESTS)))
	$(call labs,,$(PUNCTUAL))

# Where it may, installs what a test would be skipped without.
test-system:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		$(MAKE) --no-print-directory setup-system || echo "test: that failed; tests that need what is missing are skipped"; \
	else \
		echo "test: tests that need what is not installed are skipped (sudo make setup-system installs it)"; \
	fi

# The fuzz targets are outside the workspace: checked, that they follow it, and not linked.
lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	cargo clippy --locked --package switchbed-python --no-default-features --quiet -- -D warnings
	CUSTOM_LIBFUZZER_PATH=target/none cargo check --locked --quiet --manifest-path fuzz/Cargo.toml --target-dir target
	$(BIN)/ruff check conftest.py python papers validation
	$(BIN)/ruff format --check conftest.py python papers validation
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

format: setup
	cargo fmt --all
	$(BIN)/ruff check --fix conftest.py python papers validation
	$(BIN)/ruff format conftest.py python papers validation

bench: setup
	$(BIN)/switchbed bench
	cargo bench --locked --bench '*'

# Figure 9 in units of a loop that runs in turn with it: about ten minutes.
bench-core: setup
	$(BIN)/python validation/bench_core.py $(ROUNDS)

# Cost by hosts, flows, queues and schemes beside the bare loop, and by hosts beside the engine
# before: about half an hour.
bench-sizes: setup
	$(BIN)/python validation/bench_sizes.py $(REPEATS)
	$(BIN)/python validation/bench_schemes.py
	$(BIN)/python validation/engines.py $(REPEATS)

# RoCE beside TCP on 320 hosts; REPEATS=n for other than five.
bench-roce: setup
	$(BIN)/python validation/bench_roce.py $(REPEATS)

# Bytes of memory a flow, a connection, a sample and a captured packet: some minutes.
bench-memory: setup
	$(BIN)/python validation/bench_memory.py

# Makes today's instruction counts the committed ones: in a commit of its own, with the reason.
bench-accept: setup
	SWITCHBED_ACCEPT_COUNTS=1 $(BIN)/python -m pytest --quiet python/tests/rules/test_instructions.py

validate: setup
	$(BIN)/python validation/without_programs.py
	$(BIN)/python -m pytest -m long python/tests papers/tests
	PROPTEST_CASES=64 cargo test --locked --package switchbed-qdisc promises
	SWITCHBED_WHOLE=1 cargo test --locked --package switchbed-scenario observers
	$(BIN)/python validation/mutants.py --check 5000 --run 500
	$(BIN)/python validation/fuzz.py --minutes 1
	$(BIN)/python validation/broken.py
	$(BIN)/python validation/other_seeds.py
	$(BIN)/python validation/offered.py
	$(BIN)/python validation/aqm_star.py
	$(BIN)/python validation/tc_scripts.py
	$(BIN)/python validation/ns3_witness.py
	$(BIN)/python validation/hosts_evidence.py
	$(BIN)/python validation/live_frames.py
	$(BIN)/python validation/live_soak.py
	$(BIN)/python validation/damage.py
	$(BIN)/python validation/full_disk.py 5
	$(BIN)/python validation/wheels.py
	$(BIN)/python validation/sweep_kills.py 40
	@if [ "$$(id -u)" = 0 ]; then $(BIN)/python validation/kill_labs.py; else echo "validate: labs are killed as root only"; fi

# The sdist, the wheel that it builds, and the wheel in fresh environments: what they take, how long
# commands do, that they work away from the tree. Crates are packaged and built as published.
wheels: setup
	$(BIN)/python validation/wheels.py
	cargo package --workspace --exclude own-scheme --exclude switchbed-python --quiet

# Licences and sources of what we depend on, and advisories where their data base can be had.
deny:
	@command -v cargo-deny >/dev/null || { echo "$@: needs cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check --hide-inclusion-graph bans licenses sources
	@if cargo deny --log-level off fetch db; then cargo deny --locked check advisories; \
	else echo "$@: advisories are unchecked: their data base cannot be had here" >&2; fi

# Beside ns-3 and ns-2, in turn; ROUNDS=n for other than five.
bench-peers: setup
	$(BIN)/python validation/bench_peers.py $(ROUNDS)

# Writes the generated pages of docs/ anew.
docs:
	SWITCHBED_WRITE_DOCS=1 cargo test --locked --quiet --package switchbed-scenario reference

# Builds the documentation as a site in target/site.
site: setup
	$(BIN)/sphinx-build -W --keep-going -q -b html -d target/site-trees docs target/site

# Draws the pictures of docs/schemes anew.
pictures: setup
	$(BIN)/python -m switchbed_papers.pictures

# Draws the testbed figures of the MQ-ECN paper anew, for docs/mqecn-testbed.md.
figures: setup
	$(BIN)/python -m switchbed_papers.figures

# Runs the papers' testbed figures as labs and writes docs/live-papers.md: as root, half an hour.
live-papers: setup
	$(BIN)/switchbed live dctcp load
	$(BIN)/switchbed live papers --out target/live-papers --docs docs

# Pins every Python package for all platforms, with hashes.
lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --generate-hashes --no-emit-index-url \
		--python-version 3.11 --extra dev --extra ray --extra slurm --custom-compile-command 'make lock' \
		pyproject.toml -o requirements.lock

# Installs the Debian packages $(1) that are missing, for the target $@.
define install
	@command -v apt-get >/dev/null || { echo "$@: needs Debian's apt-get; install the like of: $(1)" >&2; exit 1; }
	@missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -z "$$missing" ]; then echo "$@: $(1): installed"; exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "$@: run it as root (sudo make $@): it installs" $$missing >&2; exit 1; fi; \
	echo "$@: installs" $$missing; \
	apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing
endef

setup-system:
	$(call install,$(SYSTEM_PACKAGES))

setup-peers:
	$(call install,$(PEER_PACKAGES))
	test -x target/peers/wheel/bin/python || $(PYTHON) -m venv target/peers/wheel
	target/peers/wheel/bin/python -m pip install --quiet --upgrade --no-deps ns3 \
		|| echo "$@: no wheel of ns-3 for this Python; bench-peers goes without"
	test -d target/peers/kernel/boot || { rm -rf target/peers/kernel && mkdir -p target/peers/kernel/deb \
		&& cd target/peers/kernel/deb && apt-get download --quiet \
		$$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1) \
		&& dpkg-deb -x *.deb .. ; }

clean:
	rm -rf target .venv python/switchbed/*.so
