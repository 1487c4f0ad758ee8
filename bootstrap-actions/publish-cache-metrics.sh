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

readonly UNIT=/etc/systemd/system/warmbase-cache-metrics

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

service() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION. To undo: systemctl disable --now warmbase-cache-metrics.timer
[Unit]
Description=Publish the figures of the RegionServer's cache over the last minute

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 $PROGRAMS/publish_cache_metrics.py --misses-for-one=${argument[misses_for_one]}
# It must never slow the RegionServer down.
Nice=19
IOSchedulingClass=idle
CPUQuota=20%
MemoryMax=128M
TimeoutStartSec=50
UNIT
}

main() {
  begin "$@"
  if primary_node; then
    end "this is a primary node: no RegionServer runs here, so there is nothing to publish"
    exit 0
  fi
  put_program requests role_requests.py
  put_program program publish_cache_metrics.py
  put_file "$UNIT.service" 644 "$(service)"
  put_file "$UNIT.timer" 644 "$(minutely_timer "Publish the figures of the RegionServer's cache each minute")"
  reload_systemd
  systemctl enable --now --quiet warmbase-cache-metrics.timer
  end "the timer runs"
}

main "$@"
