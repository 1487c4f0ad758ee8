#!/usr/bin/env bash
# Creates a table of one family, unless it exists, writes a row, and flushes it, so that a store file is in the root.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local table=$1
  if ! tables | grep -qx "$table"; then
    shell "create '$table', 'f'" >&2 || fail "the HBase shell could not create $table"
  fi
  shell "put '$table', 'row', 'f:q', 'value'" "flush '$table'" >&2 || fail "the HBase shell could not write to $table"
  answer "{\"table\": $(quoted "$table")}"
}

main "$@"
