#!/usr/bin/env bash
# Stops HBase on all nodes: the master tells each RegionServer to close its regions. Answers the RegionServers that are left.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

# Closing is seconds for a disabled table; the index of a large cache takes minutes to be written.
readonly WAIT_SECONDS=$1

main() {
  local left deadline=$((SECONDS + WAIT_SECONDS))
  if ! stopped; then
    echo "telling the master to end HBase" >&2
    # Without the option HBase 2.6 refuses, and says that it is for the master alone.
    hbase master stop --shutDownCluster >&2 || fail "the master could not be told to end HBase"
  fi
  # The master ends last: it keeps what it knows of regions until then.
  until stopped || ((SECONDS >= deadline)); do
    echo "HBase has not ended yet" >&2
    sleep 5
  done
  left=$(children /hbase/rs) || fail "ZooKeeper does not say which RegionServers run"
  if [[ -z $left ]] && ! stopped; then left=the-master; fi
  # shellcheck disable=SC2086 # one name a word
  answer "{\"servers\": $(array $left)}"
}

main
