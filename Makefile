# make demo   set up, then plan, render, synthesise and deploy environments/prod.yaml to a local AWS
# make test   set up, then run every test but those that boot a real HBase
# make test-lab  run those, one after the other; skipped where `make lab-setup` has not been
# make fuzz   set up, then 100,000 damaged store files, others each time: some five minutes
# make bench-inspect  set up the lab, then how fast store files in S3 are inspected, beside HBase's own printer: 3 min
# make lab    set up, then every scenario of the lab: a real HBase on this machine, an hour or so
# make check  set up, then what CI checks besides the tests: formatting, lint, types, shell
SHELL := /bin/bash
ROOMS := sizing facts emr hfile environments configurations lint dashboards changes stacks operations local_aws lab published reports cli
BIN   := .venv/bin
READY := .venv/.ready
SHELLS := setup.sh .ci/run $(wildcard bootstrap-actions/*.sh operations/steps/*.sh local_aws/stubs/* tests/bootstrap_actions/*.bats tests/bootstrap_actions/*.bash)
ARGS  ?=

.PHONY: help setup demo lab lab-setup test test-lab fuzz bench-inspect check format clean

help:
	@sed -n 's/^# //p' Makefile

setup: $(READY)

$(READY): pyproject.toml uv.lock package.json package-lock.json setup.sh
	@./setup.sh
	@touch $@

demo: setup
	@$(BIN)/warmbase demo $(ARGS)

lab-setup: setup
	@$(BIN)/warmbase lab setup

lab: lab-setup
	@$(BIN)/warmbase lab run $(ARGS)

test: setup
	$(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal -m "not lab and not speed" $(ARGS)
	node_modules/bats/bin/bats tests/bootstrap_actions
	$(BIN)/pytest -q -m speed

test-lab: setup
	$(BIN)/pytest -m lab $(ARGS)

fuzz: setup
	$(BIN)/pytest -n 2 --dist worksteal tests/hfile/test_damaged_files.py tests/hfile/test_damaged_lists.py --inputs 100000 $(ARGS)

bench-inspect: lab-setup
	$(BIN)/python -m lab.hbase.inspection_bench $(ARGS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/shellcheck $(SHELLS)
	$(BIN)/shfmt -d -i 2 -ci $(SHELLS)

format: setup
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/shfmt -w -i 2 -ci $(SHELLS)

clean:
	rm -rf .venv node_modules cdk.out .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
