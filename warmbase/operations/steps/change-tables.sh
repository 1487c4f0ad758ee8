#!/usr/bin/env bash
# Reads the families of every enabled user table, changes attributes of families without reopening a region, or reopens
# one region on its server. The arguments after the answer's URL: families, change TABLE FAMILY:ATTRIBUTE=VALUE..., or
# reopen-region REGION with its encoded name.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=warmbase/operations/steps/program.sh
source "$(dirname "${BASH_SOURCE[0]}")/program.sh"

# program: the Ruby program for the HBase shell.
program() {
  cat "$(dirname "${BASH_SOURCE[0]}")/tables.rb"
}

answer_by_program
