# Two commands do everything:  make demo  and  make test
.PHONY: demo test clean
.DEFAULT_GOAL := demo

PYTHON ?= python3
BIN := .venv/bin

# Stamps: an environment is made again only when pyproject.toml changes.
.venv/core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/all: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[torch,ray,serve,dev]"
	touch $@

demo: .venv/core
	$(BIN)/foro demo

# Tests run side by side: each keeps to one thread, and those that share a Ray cluster are run by one process.
test: .venv/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term --cov-fail-under=90

clean:
	rm -rf .venv .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache dist
