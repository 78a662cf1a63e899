# make run, make test: each works from nothing but Python 3.11 or newer.
PYTHON ?= python3
PORT   ?= 8501
ARGS   ?=

BIN     := .venv/bin
PIP     := -m pip install --quiet --disable-pip-version-check
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes
LOCK    := $(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
           --generate-hashes --no-header --no-emit-index-url --no-emit-find-links $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help run serve test test-all types pytest bench studies load notebooks docs audit lock clean
.DELETE_ON_ERROR:

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

run: .venv/run.stamp  ## start the app on http://localhost:8501 (PORT=..., ARGS="--server...")
	$(BIN)/python -m streamlit run app.py --server.port $(PORT) $(ARGS)

serve: .venv/run.stamp  ## start it for others, who open http://HOSTS:8501 (HOSTS=name,address)
	ABCDP_SERVED=1 ABCDP_POLL=1 ABCDP_HOSTS="$(HOSTS)" $(BIN)/python -m streamlit run app.py \
	  --server.address 0.0.0.0 --server.port $(PORT) $(ARGS)

test: .venv/test.stamp  ## lint, type check and all tests (ARGS="tests/pages -x")
	$(BIN)/python -m tests.browser.chromium
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(MAKE) --no-print-directory -j2 pytest types

test-all: export ARGS += -m ""
test-all: test  ## the same with the slow tests, and forty planted faults (half an hour)
	$(BIN)/python -m tools.planted_faults

# Together: alone, types would leave all processors but one idle.
types:
	$(BIN)/python -m mypy abcdp_core ui pages tools app.py

# Bytecode is kept even where Python is told not to (it goes where numba keeps its own): the tests
# start dozens of processes, each of which would compile all sources again.
pytest:
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest $(ARGS)

bench: .venv/run.stamp  ## measure speed
	$(BIN)/python -m benchmarks $(ARGS)

studies: .venv/run.stamp  ## run measurements too slow for the tests, into benchmarks/goals.csv (ARGS=GOAL)
	$(BIN)/python -m benchmarks.goals $(ARGS)

load: .venv/run.stamp  ## measure what many visitors at once get (7 minutes; ARGS="--seconds 20 --only 32")
	$(BIN)/python -m benchmarks.load $(ARGS)

notebooks: .venv/run.stamp  ## run the notebooks and keep what they print
	$(BIN)/python -m tests.notebooks

docs: .venv/test.stamp  ## build the documentation into build/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs

# In an environment of its own, so that the app never depends on it.
audit: .venv/python.stamp  ## check the locked packages for known vulnerabilities
	@$(PYTHON) -m venv .venv/audit
	@.venv/audit/bin/python $(PIP) "pip-audit>=2.10,<3"
	.venv/audit/bin/pip-audit --require-hashes --disable-pip -r requirements.lock -r requirements-test.lock

lock: .venv/python.stamp  ## remake the lock files (UPGRADE=--upgrade for newest versions)
	echo "uv>=0.9,<1" | $(LOCK) --no-annotate - --output-file requirements-uv.lock
	$(LOCK) requirements.txt --output-file requirements.lock
	$(LOCK) requirements-test.txt --constraints requirements.lock --output-file requirements-test.lock

clean:  ## remove the environment and everything made by tools
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than the lock files it was installed from, so nothing is installed twice.
.venv/python.stamp: requirements-uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { echo "Python cannot make an environment; on Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python $(PIP) --require-hashes -r requirements-uv.lock
	@touch $@

.venv/run.stamp: requirements.lock | .venv/python.stamp
	@echo "Installing what the app needs: half a minute, once."
	$(INSTALL) -r requirements.lock
	@touch $@

.venv/test.stamp: requirements-test.lock .venv/run.stamp
	@echo "Installing what the tests need: half a minute, once."
	$(INSTALL) -r requirements.lock -r requirements-test.lock
	@touch $@
