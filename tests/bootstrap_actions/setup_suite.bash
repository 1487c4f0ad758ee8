# shellcheck shell=bash
# What all files here need once: the actions and programs as they are uploaded, and what a plan gives them.

setup_suite() {
  bats_require_minimum_version 1.11.0
  export PROJECT UPLOADED=$BATS_SUITE_TMPDIR/uploaded
  PROJECT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  mkdir "$UPLOADED"
  (cd "$PROJECT" && .venv/bin/python -m tests.bootstrap_actions.uploaded "$UPLOADED")
}
