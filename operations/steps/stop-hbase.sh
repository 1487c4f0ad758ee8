#!/usr/bin/env bash
# Stops HBase on all nodes: the master tells each RegionServer to close its regions. The answer lists the RegionServers
# that are still running.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

# A RegionServer closes disabled tables in seconds; it writes the index of a large cache in minutes.
readonly WAIT_SECONDS=$1

main() {
  local servers deadline=$((SECONDS + WAIT_SECONDS))
  if ! stopped; then
    echo "telling the master to shut down HBase" >&2
    # Without the option, HBase 2.6 refuses, because it would stop only the master.
    hbase master stop --shutDownCluster >&2 || fail "the master did not accept the command to shut down HBase"
  fi
  # The master stops last, after every RegionServer.
  until stopped || ((SECONDS >= deadline)); do
    echo "waiting until HBase has stopped" >&2
    sleep 5
  done
  servers=$(children /hbase/rs) || fail "ZooKeeper did not list the RegionServers"
  if [[ -z $servers ]] && ! stopped; then servers=the-master; fi
  # shellcheck disable=SC2086 # every word is one name
  answer "{\"servers\": $(array $servers)}"
}

main
