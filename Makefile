# Everything lives in this tree: the virtual environment in .venv, cargo's output in target.
# Files in .venv named .stamp-* say what is up to date.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell command -v $(p))) python3)
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -type f)

# What tests and builds need beyond Rust and Python packages, as Debian names it.
SYSTEM_PACKAGES := build-essential python3-venv valgrind

.PHONY: setup setup-system demo test bench bench-accept bench-sizes validate lint format docs pictures lock clean
.DEFAULT_GOAL := setup

setup: .venv/.stamp-module

.venv/.stamp-packages: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "switchbed needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	touch $@

# The Python sources are used in place; only the compiled module is ever rebuilt.
.venv/.stamp-module: .venv/.stamp-packages pyproject.toml $(RUST)
	PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	touch $@

demo: setup
	$(BIN)/python -m switchbed.demo

test: lint
	cargo test --locked
	$(BIN)/python -m pytest

lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python
	$(BIN)/ruff format --check python
	$(BIN)/mypy

format: setup
	cargo fmt --all
	$(BIN)/ruff check --fix python
	$(BIN)/ruff format python

bench: setup
	$(BIN)/switchbed bench
	cargo bench --locked --bench '*'

# Cost by hosts, flows, queues and schemes beside the bare loop: about ten minutes.
bench-sizes: setup
	$(BIN)/python validation/bench_sizes.py $(REPEATS)

# Makes today's instruction counts the committed ones: in a commit of its own, with the reason.
bench-accept: setup
	SWITCHBED_ACCEPT_COUNTS=1 $(BIN)/python -m pytest --quiet python/tests/test_instructions.py

validate: setup
	@echo "validate: no comparison with theory or a peer exists yet; 'make test' holds the checks there are"

# Writes the generated pages of docs/ anew.
docs:
	SWITCHBED_WRITE_DOCS=1 cargo test --locked --quiet --package switchbed-scenario reference

# Draws the pictures of docs/schemes anew.
pictures: setup
	$(BIN)/python -m switchbed.pictures

# Pins every Python package for all platforms, with hashes.
lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --generate-hashes --no-emit-index-url \
		--python-version 3.11 --extra dev --custom-compile-command 'make lock' \
		pyproject.toml -o requirements.lock

setup-system:
	@command -v apt-get >/dev/null || { echo "setup-system: needs Debian's apt-get; install the like of: $(SYSTEM_PACKAGES)" >&2; exit 1; }
	@missing=$$(for p in $(SYSTEM_PACKAGES); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -z "$$missing" ]; then echo "setup-system: $(SYSTEM_PACKAGES): installed"; exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "setup-system: run it as root (sudo make setup-system): it installs" $$missing >&2; exit 1; fi; \
	apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing

clean:
	rm -rf target .venv python/switchbed/*.so
