# Everything a checkout needs: make demo, make test. Packages that are missing are installed first (see .ci/setup).
BIN := .venv/bin
export PYTHON
# tests start hundreds of processes: each would compile the product again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint dist bench figures scale reference pictures recording site soak lies clean

help:
	@echo "make demo    a first run on this machine: the screens in a terminal, a summary without one"
	@echo "make test    ruff, mypy, lint-imports, wording, shellcheck and all tests"
	@echo "make lint    the checkers alone"
	@echo "make dist    the wheel and one file for each architecture, with all libraries, in dist/; MACHINE=x86_64 for one"
	@echo "make bench   figures: start skew and frozen hosts beside fio --client"
	@echo "make figures the figures of docs/performance.md, beside other programs; 20 minutes on a machine that does nothing else"
	@echo "make scale   engine and screens alone at 16 to 1024 hosts; 12 minutes on a machine that does nothing else"
	@echo "make reference docs/reference and the tables of keys, from the code"
	@echo "make pictures pictures of docs/images, of the real screens on runs that were made up; ALL=FOLDER for every size and look"
	@echo "make recording a recording of the real program for the docs, of a run on loopback hosts; needs tmux"
	@echo "make site    the pages of docs/ as a site, in site/"
	@echo "make soak    random faults against real runs, random examples of properties, damaged files; SEED=7 N=20 HOSTS=4 CASES=2000 to choose"
	@echo "make lies    staged and doctored lies, bottlenecks and clean runs, into docs/truth.md; half an hour on an idle machine;"
	@echo "             SEED=7 STAGED=1 DOCTORED=10 LIMITS=2 CLEAN=60 CLEAN_AT_ONCE=1 PAIRS=60 TIMES=1 JSON=FILE; ONLY=unwritten writes no page"
	@echo "make sustained 200 simulated searches with a hold, into docs/capacity.jsonl and docs/capacity-method.md; half an hour; SEARCHES=100 SEED=0 HOLD=300"
	@echo "make clean   remove .venv and everything else that make left here"

demo:
	@.ci/setup demo
	@if [ -t 0 ] && [ -t 1 ]; then \
	    exec $(BIN)/benchtui --hosts local --profile demo/quick --review; \
	else \
	    exec $(BIN)/benchtui run demo/quick --hosts local; \
	fi

# tests wait for hosts more than they compute, so four share a core, and each that is added collects all of them; a file
# stays whole, what it has measured is shared
WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) * 4 )))

# the checkers run beside the tests, which wait more than they compute, and complain as soon as they find something;
# pytest has the last word. Collecting first compiles the tests once, not in each of the processes that share them
test:
	@.ci/setup test
	@$(MAKE) --no-print-directory check & checker=$$!; \
	$(BIN)/python -m pytest --collect-only >/dev/null 2>&1; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder; tests=$$?; \
	wait $$checker || { [ $$tests -ne 0 ] || tests=1; echo "make test: a checker failed, see above"; }; \
	exit $$tests

lint:
	@.ci/setup test
	@$(MAKE) --no-print-directory check

.PHONY: check
check:
	@status=0; \
	$(BIN)/ruff check --quiet --output-format concise . || status=1; \
	$(BIN)/mypy --no-error-summary || status=1; \
	$(BIN)/lint-imports --no-cache --no-logo >/dev/null || { status=1; $(BIN)/lint-imports --no-cache --no-logo; }; \
	$(BIN)/python -m tests.wording || status=1; \
	$(BIN)/python -m tests.remote.shellcheck || status=1; \
	exit $$status

dist:
	@.ci/setup test
	@$(BIN)/python -m onefile.build $(if $(MACHINE),--machine $(MACHINE))
	@set -e; for file in dist/*-linux-$$(uname -m); do $(BIN)/python -m onefile.check $$file; done

pictures:
	@.ci/setup test
	@$(BIN)/python -m tests.long.pictures $(if $(ALL),--all "$(ALL)")
	@$(BIN)/python -m tests.long.pictures.search

recording:
	@.ci/setup test
	@$(BIN)/python -m tests.long.pictures.recording

site:
	@.ci/setup test
	@[ -x $(BIN)/zensical ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@$(BIN)/zensical build --strict -f mkdocs.yml
	@echo "site/index.html"

reference:
	@$(BIN)/python -m tests.reference
	@$(BIN)/python -m tui.app.terminal.actions docs/screens.md

figures:
	@.ci/setup test
	@$(BIN)/python -m tests.long.bench figures

scale:
	@.ci/setup test
	@SECONDS_EACH=$${SECONDS_EACH:-12} $(BIN)/python -m tests.long.bench scale

bench:
	@.ci/setup test
	@$(BIN)/python -m tests.long.bench

N ?= 20
HOSTS ?= 4
CASES ?= 2000
soak:
	@.ci/setup test
	@$(BIN)/python -m pytest --hypothesis-profile search -m slow
	@$(BIN)/python -m pytest --hypothesis-profile search -m 'hypothesis and not slow'
	@$(BIN)/python -m tests.long.fuzz --cases $(CASES) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.long.soak --trials $(N) --hosts $(HOSTS) $(if $(SEED),--seed $(SEED))

.PHONY: sustained
sustained:
	@.ci/setup test
	@$(BIN)/python -m tests.long.capacity --write

TIMES ?= 1
STAGED ?= 1
DOCTORED ?= 10
LIMITS ?= 2
CLEAN ?= 60
CLEAN_AT_ONCE ?= 1
PAIRS ?= 60
lies:
	@.ci/setup test
	@$(BIN)/python -m tests.long.lies --times $(TIMES) --staged $(STAGED) --doctored $(DOCTORED) --limits $(LIMITS) \
	    --clean $(CLEAN) --clean-at-once $(CLEAN_AT_ONCE) --pairs $(PAIRS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only "$(ONLY)",--write) \
	    $(if $(JSON),--json "$(JSON)")

clean:
	@rm -rf .venv dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache snapshot_report.html
	@find tui tests onefile -name __pycache__ -type d -prune -exec rm -rf {} +
