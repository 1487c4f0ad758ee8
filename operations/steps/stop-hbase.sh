#!/usr/bin/env bash
# Stops HBase on all nodes: the master tells each RegionServer to close its regions. Answers the RegionServers that are left.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

# Closing is seconds for a disabled table; the index of a large cache takes minutes to be written.
readonly WAIT_SECONDS=$1

# servers: every RegionServer that has its place in ZooKeeper, one a line.
servers() { hbase zkcli ls /hbase/rs 2>/dev/null | tail -1 | sed 's/^\[//; s/\]$//; s/, /\n/g' | sed '/^$/d'; }

main() {
  local left deadline=$((SECONDS + WAIT_SECONDS))
  echo "telling the master to end HBase" >&2
  hbase master stop >&2 || fail "the master could not be told to end HBase"
  left=$(servers)
  while [[ -n $left ]] && ((SECONDS < deadline)); do
    echo "$(wc -l <<<"$left") RegionServers are still there" >&2
    sleep 5
    left=$(servers)
  done
  # shellcheck disable=SC2086 # one name a word
  answer "{\"servers\": $(array $left)}"
}

main
