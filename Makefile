# make demo       deploy environments/prod.yaml to a local AWS: plan, render, synthesise, deploy, compare, remove
# make test       the tests to run before a commit: about 4 minutes on two idle cores
# make test-all   every test that needs no real HBase, those of `make test` and `make test-more`; about 16 minutes (estimate)
# make test-more  what `make test` leaves out: the long tests, and the laws again on more examples
# make test-lab   the tests that boot a real HBase; they are skipped where `make lab-setup` has not run. Those marked
#                 thorough compare times with predictions, so run it on an idle machine
# make lab        every scenario of the lab on a real HBase on this machine: an hour or more
# make mutants    break the code in more than 100 ways, one at a time, and name the test that notices each
# make fuzz       run each property test on new examples, and read 100,000 damaged store files
# make bench      measure how long things take; run it on an idle machine
# make bench-inspect  measure how fast store files in S3 are inspected, beside HBase's own printer: 3 minutes
# make bench-plan  measure the CPU time of a plan for ranges, and that of another planner: 5 minutes
# make check      formatting, lint, types, shell scripts and the page of `explore`, as continuous integration checks them
# make format     rewrite the code in the project's format
# make release    build the wheel, try it outside the checkout, and write its notes from CHANGELOG.md, all in dist/
# make pictures   draw the pictures of the README and of docs/ anew, after a change of what they show
# make setup      install what sizes and checks; `make demo` and all others add what they need. make setup-dev installs all of it
# make clean      remove everything that these commands have made
# Each command sets up what it needs first. ARGS="..." passes options on, for instance make test ARGS="-k memory".
SHELL := /bin/bash
BIN   := .venv/bin
SHELLS := setup.sh .ci/run .ci/parts $(wildcard docs/ci/*.sh bootstrap-actions/*.sh warmbase/operations/steps/*.sh warmbase/operations/on_node/*.sh local_aws/emr/stand-ins/* tests/bootstrap_actions/*.bats tests/bootstrap_actions/*.bash)
ARGS  ?=
# Two workers, and the tests after these, read the bytecode that the first one has written.
unexport PYTHONDONTWRITEBYTECODE
# Where no Node is on the PATH, the one of .venv.
WITH_NODE := PATH="$$PATH:$(CURDIR)/$(BIN)"
PYTEST := $(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal
# The files with tests of a mark, unless ARGS names files: to collect all others takes a quarter of a minute.
marked = $(if $(findstring tests/,$(ARGS)),,$(shell grep -rl --include='*.py' 'mark\.$(1)\b' tests))

.PHONY: help setup demo lab lab-setup test test-all test-more test-lab mutants fuzz bench bench-inspect bench-plan check format release pictures clean

help:
	@sed -n 's/^# //p' Makefile

setup: setup-plan

setup-%: .venv/.ready-%
	@:

.PRECIOUS: .venv/.ready-%
.venv/.ready-%: pyproject.toml uv.lock package.json package-lock.json setup.sh
	@./setup.sh $*

demo: setup-demo
	@$(BIN)/warmbase demo $(ARGS)

lab-setup: setup-lab
	@$(BIN)/warmbase lab setup
	@$(BIN)/warmbase lab setup --engine trino

lab: lab-setup
	@$(BIN)/warmbase lab run $(ARGS)

BATS := node_modules/bats/bin/bats tests/bootstrap_actions

test: setup-dev
	@source .ci/parts; \
	beside bats $(BATS); \
	part pytest $(PYTEST) -m "not lab and not bench and not thorough" $(ARGS); \
	finish

# One run, so that plans, templates and the laws that both have are computed once.
test-all: setup-dev
	@source .ci/parts; \
	beside bats $(BATS); \
	part pytest $(PYTEST) --hypothesis-profile ci -m "not lab and not bench" $(ARGS); \
	finish

test-more: setup-dev
	@source .ci/parts; \
	part pytest $(PYTEST) --hypothesis-profile ci -m "(thorough or more_examples) and not lab and not bench" $(ARGS); \
	finish

test-lab: setup-dev
	$(BIN)/pytest -m "lab and not bench" $(call marked,lab) $(ARGS)

bench: setup-dev
	$(BIN)/pytest -m bench $(call marked,bench) $(ARGS)

mutants: setup-dev
	$(BIN)/python -m tests.mutants $(ARGS)

fuzz: setup-dev
	$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile fuzz -m more_examples $(ARGS)
	$(BIN)/pytest -n 2 --dist worksteal tests/hfile/test_damaged_files.py tests/hfile/test_damaged_lists.py --inputs 100000 $(ARGS)

bench-inspect: setup-dev lab-setup
	$(BIN)/python -m tests.hfile.inspection_bench $(ARGS)

bench-plan: setup-dev
	$(BIN)/python -m tests.environments.planning_bench $(ARGS)

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/shellcheck $(SHELLS)
	$(BIN)/shfmt -d -i 2 -ci $(SHELLS)
	$(WITH_NODE) node_modules/.bin/biome ci .
	$(WITH_NODE) node_modules/.bin/tsc -p .

format: setup-dev
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/shfmt -w -i 2 -ci $(SHELLS)
	$(WITH_NODE) node_modules/.bin/biome check --write .

release: setup-dev
	@$(BIN)/python -m tools.release $(ARGS)

pictures: setup-dev
	$(BIN)/pytest -q tests/reports/explorer/test_browser.py -k picture --update-golden $(ARGS)
	$(BIN)/python -m tools.reference lab-results --write

clean:
	rm -rf .venv .node node_modules cdk.out dist .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
