#!/usr/bin/env bash
# EMR bootstrap action, on every node but the primaries: publishes each minute what the RegionServer's cache did in it.
#
# HBase has only counters and a mean over its life; CloudWatch cannot difference the ones per server nor use the other.
# `--help` lists the arguments. Leaves on the node
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

  --misses-for-one=N        how often this HBase counts one miss of the BucketCache, 1 or 2
  --program=URL             publish_cache_metrics.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX      what it must be
  --requests=URL            role_requests.py, which it imports
  --requests-sha256=HEX     what that must be

To see what it does: journalctl --unit warmbase-cache-metrics
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
Description=Publish what the RegionServer's cache did in the last minute

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 $PROGRAMS/publish_cache_metrics.py --misses-for-one=${argument[misses_for_one]}
# It must never be felt by the RegionServer beside it.
Nice=19
IOSchedulingClass=idle
CPUQuota=20%
MemoryMax=128M
TimeoutStartSec=50
UNIT
}

timer() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION.
[Unit]
Description=Each minute, what the RegionServer's cache did in it

[Timer]
OnCalendar=minutely
# So that a hundred nodes do not call at the same second.
RandomizedDelaySec=5
AccuracySec=1

[Install]
WantedBy=timers.target
UNIT
}

main() {
  begin "$@"
  if primary_node; then
    end "this is a primary node: no RegionServer runs here, nothing to publish"
    exit 0
  fi
  put_program requests role_requests.py
  put_program program publish_cache_metrics.py
  put_file "$UNIT.service" 644 "$(service)"
  put_file "$UNIT.timer" 644 "$(timer)"
  reload_systemd
  systemctl enable --now --quiet warmbase-cache-metrics.timer
  end "the timer runs"
}

main "$@"
