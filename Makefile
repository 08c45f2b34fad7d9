# Everything sets itself up: the first run makes .venv, later ones reuse it until pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What Python compiles is kept: each of the hundreds of programs that tests start would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test browser specifications lint bench docs dist constraints audit clean

help: ## What there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /' | sort

demo: $(VENV)/.ready ## What it does, in two minutes and without a key
	@$(BIN)/python examples/demo.py

# Style and types are looked at while the tests run, some of which only wait; what is wrong with them is told at the end.
# What Python makes of the tests, and of what they import, is made by one process before four want it. Each of these
# begins with tests that lie together, which share what is slow to make. A few failed tests are repeated alone.
test: $(VENV)/.ready-test browser specifications ## Everything that must hold before a change lands
	@mkdir -p build; { $(LINT); } >build/lint.txt 2>&1 & lint=$$!; \
		$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1; $(BIN)/python -m pytest -n 4 --dist worksteal; tests=$$?; \
		[ $$tests != 1 ] || { $(BIN)/python .ci/repeat_failed.py; tests=$$?; }; \
		wait $$lint && exit $$tests; cat build/lint.txt; exit 1

# The page is tested in a browser: the one that is there, or Debian's where it may be installed.
APT := apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
browser:
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { { $(APT); } || { sleep 10; $(APT); }; }; } \
		|| echo "There is no chromium, and none can be installed here: the page is not tested in a browser."

# The examples of these are tests. Without them those tests fail, and say so.
specifications: ## Fetch the specifications of Markdown, once
	@$(PYTHON) .ci/specifications.py || echo "The examples of Markdown's specifications cannot be tested."

LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright --pythonpath $(BIN)/python \
	&& $(BIN)/lint-imports --no-cache
lint: $(VENV)/.ready-test ## Style, types and import contracts
	$(LINT)

bench: $(VENV)/.ready-test ## Benchmarks, against peers in the same run
	$(BIN)/python bench/loop.py
	$(BIN)/python bench/overhead.py
	$(BIN)/python bench/typed.py
	$(BIN)/python bench/render.py
	$(BIN)/python bench/page.py
	$(BIN)/python bench/tokens.py
	$(BIN)/python bench/lang.py
	$(BIN)/python bench/journal.py
	$(BIN)/python bench/sessions.py
	$(BIN)/python bench/start.py
	$(BIN)/python bench/workers.py
	$(BIN)/python bench/team/run.py
	$(BIN)/python bench/local/run.py

docs: $(VENV)/.ready-test ## The documentation as a site
	$(BIN)/zensical build --clean

dist: $(VENV)/.ready-test ## A wheel and an sdist, in dist/
	rm -rf dist
	$(BIN)/hatchling build

# For every system and Python at once, which pip-compile cannot do.
constraints: $(VENV)/.ready-test ## Pin all that antiphon needs anew, with hashes, in constraints.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	$(BIN)/uv pip compile -q pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links -o constraints.txt

audit: ## Look for known faults in what constraints.txt names, where a database of them can be reached
	@$(PYTHON) .ci/audit.py

$(VENV)/.ready: pyproject.toml Makefile
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing antiphon into $(VENV) ..."
	@$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check -e '.[all]' 'pytest>=8.4'
	@touch $@

$(VENV)/.ready-test: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing what the tests need into $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check -e '.[all]' --group test
	@touch $@ $(VENV)/.ready

clean: ## Remove what was made
	rm -rf $(VENV) .venv-bench .venv-audit build dist .cache .pytest_cache .ruff_cache .hypothesis
