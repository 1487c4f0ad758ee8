#!/usr/bin/env bash
# Creates a table of one family, unless it exists, writes a row, and flushes it, so that a store file is in the root.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local table=$1
  export TABLE=$table
  if ! tables | grep -qxF -e "$table"; then
    shell "create ENV['TABLE'], 'f'" >&2 || fail "the HBase shell could not create $table"
  fi
  shell "put ENV['TABLE'], 'row', 'f:q', 'value'" "flush ENV['TABLE']" >&2 || fail "the HBase shell could not write to $table"
  answer "{\"table\": $(quoted "$table")}"
}

main "$@"
