# make check: set up and judge this machine's processor. make test: set up and run all that CI runs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_WORKERS ?= 2

.PHONY: check test lint format clean

check: $(VENV)/.installed
	$(BIN)/boardops check --cpu --profile quick -o report.html -o report.md

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.venv-made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.venv-made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.venv-made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist report.html report.md .mypy_cache .ruff_cache .hypothesis .import_linter_cache
