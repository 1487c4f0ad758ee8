#!/usr/bin/env bash
# Disables every table, so that all that is in memory is written to the root. Answers how many, and those still enabled.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local found table said all=() enabled=()
  if stopped; then
    answer '{"down": true}'
    return
  fi
  echo "disabling every table" >&2
  /bin/bash /usr/lib/hbase/bin/disable_all_tables.sh >&2 || fail "EMR's disable_all_tables.sh failed"
  found=$(tables) || fail "HBase's shell does not list the tables"
  for table in $found; do
    all+=("$table")
    said=$(shell "is_disabled '$table'") || fail "HBase's shell does not say whether $table is disabled"
    if ! grep -qx true <<<"$said"; then enabled+=("$table"); fi
  done
  answer "{\"tables\": $(array "${all[@]}"), \"enabled\": $(array "${enabled[@]}")}"
}

main
