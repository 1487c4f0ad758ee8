#!/usr/bin/env bash
# Disables every table, so that HBase writes everything in memory to the root. The answer lists all tables, and those that
# are still enabled.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local list table state all enabled=()
  if stopped; then
    answer '{"down": true}'
    return
  fi
  echo "disabling every table" >&2
  /bin/bash /usr/lib/hbase/bin/disable_all_tables.sh >&2 || fail "EMR's disable_all_tables.sh failed"
  list=$(tables) || fail "the HBase shell could not list the tables"
  mapfile -t all < <(lines "$list")
  for table in "${all[@]}"; do
    state=$(TABLE=$table shell "is_disabled ENV['TABLE']") || fail "the HBase shell could not check whether $table is disabled"
    if ! grep -qx true <<<"$state"; then enabled+=("$table"); fi
  done
  answer "{\"tables\": $(array "${all[@]}"), \"enabled\": $(array "${enabled[@]}")}"
}

main
