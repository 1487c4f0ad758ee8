#!/usr/bin/env bash
# What a primary alone shows: which blocks a master's cache has, and what EMR says to it of a cluster that never was.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly LOGS=${1:-/var/log/hbase}

# caches: lines by which the master's logs say that it has a BucketCache; null where there is no log to be read.
caches() {
  local logs=("$LOGS"/*master*.log)
  if [[ ! -r ${logs[0]} ]]; then
    echo null
    return
  fi
  cat "${logs[@]}" | { grep -cF bucket.BucketCache || true; }
}

main() {
  local said
  said=$(aws emr describe-cluster --cluster-id j-0000000000000 2>&1) || true
  answer "{\"master_caches\": $(caches), \"forgotten\": $(quoted "$said")}"
}

main
