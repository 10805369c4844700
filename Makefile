# Two commands: `make run` and `make test`. Everything they need is set up here.
SHELL := /bin/sh
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

# The samples and your own files never share a data folder; TGV_HOME names another one.
ifdef INBOX
TGV_HOME ?= var/own
RUN_ARGUMENTS := --inbox "$(INBOX)"
else
TGV_HOME ?= var/demo
RUN_ARGUMENTS := --samples
endif
export TGV_HOME

.PHONY: help run ui test test-ui soak bench check lock system system-test clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -e 's/:.*## /\t/' | expand -t 12

run: .venv/.run system   ## set up, start, ingest the samples (or INBOX=/some/folder), ask two questions
	@$(BIN)/tgv run $(RUN_ARGUMENTS)

ui: .venv/.run system    ## Dagster UI with daemon and sensors, on this machine only
	@$(BIN)/tgv ui

test: .venv/.test system system-test  ## the tests
	@$(BIN)/pytest -n 3 --dist worksteal -m "not soak and not ui"

test-ui: .venv/.test system   ## browser tests of the pages and the Dagster UI (needs npm for axe-core)
	@scripts/system-packages.sh packages-ui.txt
	@$(BIN)/pytest -m ui

soak: .venv/.test system system-test  ## the long proofs: kills, rebuilds, real restarts
	@$(BIN)/pytest -m soak --timeout 3600

bench: .venv/.test system  ## every benchmark; figures belong in bench/README.md
	@for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

check: .venv/.test  ## ruff, pyright, import directions, lock, links of the docs
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/check_lock.py
	@$(BIN)/python scripts/audit_page.py --check
	@$(BIN)/python scripts/check_docs.py

lock: .venv/.test  ## write both lock files anew from pyproject.toml
	@$(BIN)/python scripts/check_lock.py --write

system:
	@scripts/system-packages.sh packages.txt

system-test:
	@scripts/system-packages.sh packages-test.txt

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 is missing: apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		|| { echo "Python 3.11 is needed; name it with PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "venv is missing: apt-get install python3-venv" >&2; exit 1; }

.venv/bin/uv: requirements-installer.lock | .venv/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-installer.lock
	@touch $@

.venv/.run: requirements.lock pyproject.toml | .venv/bin/uv
	@echo "Installing Python packages (once)"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.test: requirements-dev.lock .venv/.run
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@touch $@

clean:           ## remove the demo's data (never your own)
	@test ! -x $(BIN)/tgv || TGV_HOME=var/demo $(BIN)/tgv down
	@rm -rf var/demo
