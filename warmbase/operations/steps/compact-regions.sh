#!/usr/bin/env bash
# Reads the store files of every region of user tables, or compacts regions into one file for each family and waits for
# the end. The arguments after the answer's URL: stored, or compact REGION... with encoded names.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=warmbase/operations/steps/program.sh
source "$(dirname "${BASH_SOURCE[0]}")/program.sh"

# program: the Ruby program for the HBase shell.
program() {
  cat "$(dirname "${BASH_SOURCE[0]}")/compactions.rb"
}

answer_by_program
