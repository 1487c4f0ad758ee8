#!/usr/bin/env bash
# Stops HBase on all nodes: the master tells each RegionServer to close its regions. The answer lists the RegionServers
# that are still running, and says whether they have `returned`: systemd may start what has stopped by itself. With a
# second argument, it only waits until HBase has stopped.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

# A RegionServer closes disabled tables in seconds; it writes the index of a large cache in minutes.
readonly WAIT_SECONDS=$1 ONLY_WAITS=${2:-}
# bash evaluates whatever stands where it computes.
if [[ ! $WAIT_SECONDS =~ ^[0-9]+$ ]]; then fail "$WAIT_SECONDS is not a number of seconds"; fi

# returned BEFORE: a RegionServer runs that did not when this began; a start code is part of its name.
returned() {
  if [[ -n $ONLY_WAITS ]]; then return 1; fi
  comm -13 <(sort <<<"$1") <(children /hbase/rs | sort) | grep -q .
}

main() {
  local servers list before deadline=$((SECONDS + WAIT_SECONDS))
  before=$(children /hbase/rs) || fail "ZooKeeper did not list the RegionServers"
  if [[ -z $ONLY_WAITS ]] && ! stopped; then
    echo "telling the master to shut down HBase" >&2
    # Without the option, HBase 2.6 refuses, because it would stop only the master.
    hbase master stop --shutDownCluster >&2 || fail "the master did not accept the command to shut down HBase"
  fi
  # The master stops last, after every RegionServer.
  until stopped || returned "$before" || ((SECONDS >= deadline)); do
    echo "waiting until HBase has stopped" >&2
    sleep 5
  done
  servers=$(children /hbase/rs) || fail "ZooKeeper did not list the RegionServers"
  if [[ -z $servers ]] && ! stopped; then servers=the-master; fi
  mapfile -t list < <(lines "$servers")
  answer "{\"servers\": $(array "${list[@]}"), \"returned\": $(returned "$before" && echo true || echo false)}"
}

main
