#!/usr/bin/env bash
# Reads the servers and regions that the master knows, switches the balancer, or reopens every region of a table on the
# server that has it. The arguments after the answer's URL: state, balancer on, balancer off, or reopen TABLE...
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

# The program reads both.
export MARK='warmbase answers ' ARGUMENTS="$*"

# program: the Ruby program for the HBase shell.
program() {
  cat "$(dirname "${BASH_SOURCE[0]}")/regions.rb"
}

main() {
  local reply
  # The shell prints the value of every statement; the answer is the line that begins with the mark.
  reply=$(shell "$(program)") || fail "the HBase shell could not do: $ARGUMENTS"
  reply=$(grep "^$MARK{" <<<"$reply" | tail -1) || fail "the HBase shell gave no answer to: $ARGUMENTS"
  answer "${reply#"$MARK"}"
}

main "$@"
