#!/usr/bin/env bash
# EMR bootstrap action, on every node except the primaries: publishes the figures of a Trino worker's cache each minute.
#
# Trino has counters since its start. CloudWatch cannot subtract the counters of each worker. `--help` lists the arguments.
# It leaves on the node
#   /usr/local/lib/warmbase/publish_trino_metrics.py, role_requests.py
#   /etc/systemd/system/warmbase-trino-metrics.service, .timer
ACTION=publish-trino-metrics
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=bootstrap-actions/publisher.sh
source "$(dirname "${BASH_SOURCE[0]}")/publisher.sh"

argument=([catalog]='' [least_hit_rate]='' [program]='' [program_sha256]='' [requests]='' [requests_sha256]='')

usage() {
  cat <<USAGE
publish-trino-metrics.sh --catalog=NAME --least-hit-rate=F
  --program=URL --program-sha256=HEX --requests=URL --requests-sha256=HEX

  --catalog=NAME            the catalog whose files are cached, such as hive
  --least-hit-rate=F        the hit rate below which an alarm is raised, a fraction such as 0.75
  --program=URL             publish_trino_metrics.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX      its SHA-256
  --requests=URL            role_requests.py, which it imports
  --requests-sha256=HEX     its SHA-256

To see its log: journalctl --unit warmbase-trino-metrics
USAGE
}

check_arguments() {
  check_program program
  check_program requests
  if [[ ! ${argument[catalog]} =~ ^[a-z]+$ ]]; then
    problems+=("--catalog='${argument[catalog]}': must be a catalog's name in small letters")
  fi
  if [[ ! ${argument[least_hit_rate]} =~ ^0\.[0-9]+$ ]]; then
    problems+=("--least-hit-rate='${argument[least_hit_rate]}': must be a fraction of at least 0.0 and below 1")
  fi
}

main() {
  begin "$@"
  install_publisher "the figures of the Trino worker's cache" publish_trino_metrics.py \
    --catalog="${argument[catalog]}" --least-hit-rate="${argument[least_hit_rate]}"
}

main "$@"
