# Needs Python 3.11 or newer with pip; the tests need Java 17 for Spark, Chromium for the HTML pages,
# and strace for failing system calls: the last two they install where apt-get can.

PYTHON ?= python3
PYTEST_ARGS ?= -q -n auto --dist loadgroup
BENCH_ARGS ?=
TORTURE_ARGS ?=
MUTANTS_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench torture mutants browser strace

APT := env DEBIAN_FRONTEND=noninteractive apt-get
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

# $(call INSTALL,command,packages): make sure of a command that Debian has in these packages.
INSTALL = command -v $(1) >/dev/null || { \
    echo "installing $(2) for the tests (once)"; \
    $(AS_ROOT) $(APT) install -y -qq $(2) >/dev/null 2>&1 || \
    { $(AS_ROOT) $(APT) update -qq && $(AS_ROOT) $(APT) install -y -qq $(2) >/dev/null; } || \
    { echo "install $(2), so that $(1) is found"; exit 1; }; }

help:
	@echo "make demo    write a sample of 1 M rows, add Bloom filters, show what they save"
	@echo "make test    run the tests"
	@echo "make lint    check style, types and the direction of imports"
	@echo "make bench   measure, and write docs/benchmarks.md (a quarter of an hour, 7 GB of disk)"
	@echo "make torture fail every system call, lose power, mutate a million footers ... (hours);"
	@echo "             TORTURE_ARGS=\"--only power,races --share 0.1 --write\" for a part of it"
	@echo "make mutants change the code in 150 places, one at a time, and see whether a test fails (an hour);"
	@echo "             MUTANTS_ARGS=\"--seed 7 --count 20\" for others"
	@echo
	@echo "Each sets up $(VENV) first, once."

demo: $(STAMP)
	@$(BIN)/python -m fixtures.demo

test: $(STAMP) browser strace
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	@$(BIN)/ruff format --check --quiet --diff .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@PYTHONPATH=.:cli $(BIN)/lint-imports --no-logo
	@echo "lint: clean"

bench: $(STAMP)
	@$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

torture: $(VENV)/.installed-torture strace
	@$(BIN)/python -W ignore -m tests.failure.torture $(TORTURE_ARGS)

mutants: $(VENV)/.installed-mutants strace
	@$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

browser:
	@$(call INSTALL,chromedriver,chromium chromium-driver)

strace:
	@$(call INSTALL,strace,strace)

$(VENV): $(STAMP)

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.11")'
	@echo "setting up $(VENV) (once; takes a few minutes where packages must be fetched)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-dev.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-mutants: $(STAMP) requirements-mutants.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-mutants.lock
	@touch $@

$(VENV)/.installed-torture: $(STAMP) requirements-torture.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-torture.lock
	@touch $@
