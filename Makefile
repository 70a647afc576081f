# Two commands do everything:  make demo  and  make test
.PHONY: demo test lint docs build clean
.DEFAULT_GOAL := demo

PYTHON ?= python3
# What is installed for the tests; those of an extra that is left out skip, and COVERAGE=0 forgives it.
EXTRAS ?= demo,torch,ray,serve,dev
COVERAGE ?= 90
BIN := $(if $(filter Windows_NT,$(OS)),.venv/Scripts,.venv/bin)

# Stamps: an environment is made again only when pyproject.toml or the version changes.
.venv/core: pyproject.toml src/foro/__init__.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

.venv/all: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	touch $@ .venv/dev

demo: .venv/core
	$(BIN)/foro demo

# Tests run side by side: each keeps to one thread, and those that share a Ray cluster are run by one process. They also
# build the site strictly, and the source distribution and the wheel, which is installed into an empty environment.
test: .venv/all lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term --cov-fail-under=$(COVERAGE)

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: .venv/dev
	$(BIN)/mkdocs build --strict

build: .venv/dev
	$(BIN)/hatchling build

clean:
	rm -rf .venv .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache dist site
