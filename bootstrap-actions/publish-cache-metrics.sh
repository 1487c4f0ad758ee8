#!/usr/bin/env bash
# EMR bootstrap action, on every node except the primaries: publishes the figures of the RegionServer's cache each minute.
#
# HBase has only counters and a mean over its lifetime. CloudWatch can neither subtract the counters of each server nor use
# the mean. `--help` lists the arguments. It leaves on the node
#   /usr/local/lib/warmbase/publish_cache_metrics.py, role_requests.py
#   /etc/systemd/system/warmbase-cache-metrics.service, .timer
ACTION=publish-cache-metrics
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=bootstrap-actions/publisher.sh
source "$(dirname "${BASH_SOURCE[0]}")/publisher.sh"

argument=([misses_for_one]='' [program]='' [program_sha256]='' [requests]='' [requests_sha256]='')

usage() {
  cat <<USAGE
publish-cache-metrics.sh --misses-for-one=N --program=URL --program-sha256=HEX --requests=URL --requests-sha256=HEX

  --misses-for-one=N        how many times this HBase counts one miss of the BucketCache, 1 or 2
  --program=URL             publish_cache_metrics.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX      its SHA-256
  --requests=URL            role_requests.py, which it imports
  --requests-sha256=HEX     its SHA-256

To see its log: journalctl --unit warmbase-cache-metrics
USAGE
}

check_arguments() {
  check_number misses-for-one 1 2 counts
  check_program program
  check_program requests
}

main() {
  begin "$@"
  install_publisher "the figures of the RegionServer's cache" publish_cache_metrics.py \
    --misses-for-one="${argument[misses_for_one]}"
}

main "$@"
