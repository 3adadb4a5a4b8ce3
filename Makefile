# Two commands on a fresh machine: `make demo` and `make test`. Everything else is for whoever works on Ratchet.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin

# The first interpreter that runs, fits and can make environments; a shim that only says "not found" does not count.
FITS := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for p in python3.12 python3.11 python3 python3.13 python; do \
	$$p -c '$(FITS)' >/dev/null 2>&1 && { command -v $$p; break; }; done)

# An environment whose interpreter was removed is not ready, whatever its mark says.
$(shell $(BIN)/python -c '' 2>/dev/null || rm -f .venv/.ready)

# uv does not read pip's settings of where packages lie.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif

SHARED := $(wildcard ../shared)
ifneq ($(SHARED),)
export RATCHET_TEST_SAMPLES ?= $(abspath ../shared/samples)
export RATCHET_GITHUB_CONTRACT ?= $(abspath ../shared/tools/github_contract)
endif

.PHONY: help setup demo test fuzz check lint types tests bench dashboards clean

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' Makefile | sed 's/:.*## /	/'

setup: .venv/.ready ## the virtual environment with everything

# The mark is made last, and an environment that is half made or of another Python is made anew. Everything is compiled
# once, here: where PYTHONDONTWRITEBYTECODE is set, each process would otherwise compile all that it imports (2 s a start).
.venv/.ready: pyproject.toml constraints.txt
	@{ $(BIN)/python -c '$(FITS)' && { $(BIN)/uv --version || $(BIN)/python -m pip --version; }; } >/dev/null 2>&1 || { \
		"$(PYTHON)" -c '$(FITS)' 2>/dev/null || { echo "make: needs Python 3.11, 3.12 or 3.13 with venv and pip" \
			"(on Debian the package python3-venv); PYTHON=... names one" >&2; exit 1; }; \
		rm -rf .venv && "$(PYTHON)" -m venv .venv; }
	@$(BIN)/uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt uv || { echo "make: no packages could be installed: is the package index" \
		"reachable? PIP_INDEX_URL and PIP_FIND_LINKS name others" >&2; exit 1; }
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -q -j 2 app workers ratchet_perf migrations
	@touch $@

demo: setup ## three pull requests checked by the real path (DEMO= keeps the service up to look around)
	$(BIN)/ratchet demo $(DEMO)
DEMO ?= --exit

# The types are checked beside the tests: they take one core half a minute.
test: setup lint ## all checks and all tests (TESTS=... only these)
	@$(MAKE) --no-print-directory --jobs 2 types tests

# Three processes on two cores: tests wait for each other's processes more than they compute.
tests: setup
	$(BIN)/python -m pytest -n 3 $(TESTS)

fuzz: setup ## the property tests with other examples each time, and more of them (TESTS=... only these)
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n 2 -m 'hypothesis and not postgres' $(TESTS)

check: setup lint types ## formatting, lint, types, import contracts

lint: setup
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

bench: setup ## our own speed, as ratios against the limit that each figure has
	$(BIN)/python -m benchmarks

dashboards: setup ## the Grafana dashboards as JSON, from their code (ADDRESS=... INTO=... for your own)
	$(BIN)/python -m dashboards.grafana $(if $(INTO),--into $(INTO)) $(if $(ADDRESS),--address $(ADDRESS))

clean: ## remove the virtual environment and caches
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find app workers ratchet_perf migrations dashboards benchmarks tests -name __pycache__ -prune -exec rm -rf {} +
