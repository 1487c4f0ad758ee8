# shellcheck shell=bash
# The part of each step that runs a Ruby program in the HBase shell. The step has a function `program`, which prints it.

# The program reads both. As JSON, which is ASCII here, an argument keeps every character.
export MARK='warmbase answers ' ARGUMENTS
ARGUMENTS=$(array "$@")

# answer_by_program: runs the program, and answers with the JSON that it prints behind the mark.
answer_by_program() {
  local reply
  # The shell prints the value of every statement; the answer is the line that begins with the mark.
  reply=$(shell "$(program)") || fail "the HBase shell could not do: $ARGUMENTS"
  reply=$(grep -a "^$MARK{" <<<"$reply" | tail -1) || fail "the HBase shell gave no answer to: $ARGUMENTS"
  answer "${reply#"$MARK"}"
}
