#!/usr/bin/env bash
# Writes hbase:meta and hbase:namespace to the root: without them the next cluster does not know its regions.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local table
  if stopped; then
    answer '{"down": true}'
    return
  fi
  for table in hbase:meta hbase:namespace; do
    echo "flushing $table" >&2
    TABLE=$table shell "flush ENV['TABLE']" >&2 || fail "the HBase shell could not flush $table"
  done
  answer '{"flushed": ["hbase:meta", "hbase:namespace"]}'
}

main
