# Needs Python 3.11 or newer with pip; the tests need Java 17 for Spark, and Chromium for the HTML
# pages, which they install where apt-get can.

PYTHON ?= python3
PYTEST_ARGS ?= -q -n auto
BENCH_ARGS ?=
TORTURE_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench torture browser

APT := env DEBIAN_FRONTEND=noninteractive apt-get
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

help:
	@echo "make demo    write a sample of 1 M rows, add Bloom filters, show what they save"
	@echo "make test    run the tests"
	@echo "make lint    check style, types and the direction of imports"
	@echo "make bench   measure, and write docs/benchmarks.md (a quarter of an hour, 7 GB of disk)"
	@echo "make torture run thousands of random queries with and without Spark's rules (hours)"
	@echo
	@echo "Each sets up $(VENV) first, once."

demo: $(STAMP)
	@$(BIN)/python -m fixtures.demo

test: $(STAMP) browser
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	@$(BIN)/ruff format --check --quiet --diff .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@PYTHONPATH=.:cli $(BIN)/lint-imports --no-logo
	@echo "lint: clean"

bench: $(STAMP)
	@$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

torture: $(STAMP)
	@$(BIN)/python -W ignore -m tests.spark.torture $(TORTURE_ARGS)

browser:
	@command -v chromedriver >/dev/null || { \
	    echo "installing Chromium for the tests of HTML pages (once)"; \
	    $(AS_ROOT) $(APT) install -y -qq chromium chromium-driver >/dev/null 2>&1 || \
	    { $(AS_ROOT) $(APT) update -qq && $(AS_ROOT) $(APT) install -y -qq chromium chromium-driver >/dev/null; } || \
	    { echo "install Chromium and ChromeDriver, so that chromium and chromedriver are found"; exit 1; }; }

$(VENV): $(STAMP)

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.11")'
	@echo "setting up $(VENV) (once; takes a few minutes where packages must be fetched)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-dev.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
