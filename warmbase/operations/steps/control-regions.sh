#!/usr/bin/env bash
# Reads the servers and regions that the master knows or the store files of each region, switches the balancer, moves
# regions, or reopens every region of a table on the server that has it. The arguments after the answer's URL: state,
# files, balancer on, balancer off, move PAUSE_SECONDS REGION@SERVER..., or reopen TABLE...
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=warmbase/operations/steps/program.sh
source "$(dirname "${BASH_SOURCE[0]}")/program.sh"

# program: the Ruby program for the HBase shell.
program() {
  cat "$(dirname "${BASH_SOURCE[0]}")/regions.rb"
}

answer_by_program
