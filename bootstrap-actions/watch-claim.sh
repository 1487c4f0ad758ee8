#!/usr/bin/env bash
# EMR bootstrap action, on every node: watches the claim of the root each minute, for as long as the cluster lives.
#
# A claim that another cluster has raises an alarm, and stops HBase on this node if the environment says so. `--help`
# lists the arguments. It leaves on the node
#   /usr/local/lib/warmbase/watch_claim.py, role_requests.py
#   /etc/systemd/system/warmbase-claim.service, .timer
#   /etc/systemd/system/hbase-{master,regionserver}.service.d/20-warmbase-claim.conf, with --fencing=stop
ACTION=watch-claim
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly UNIT=/etc/systemd/system/warmbase-claim

argument=([bucket]='' [key]='' [role]='' [fencing]='' [program]='' [program_sha256]='' [requests]='' [requests_sha256]='')

usage() {
  cat <<USAGE
watch-claim.sh --bucket=NAME --key=KEY --role=ROLE --fencing=F --program=URL --program-sha256=HEX --requests=URL ...

  --bucket=NAME             bucket of the root directory
  --key=KEY                 the claim's key in it
  --role=ROLE               active or replica, of the cluster at launch
  --fencing=F               alarm, or stop: what to do where another cluster has the claim
  --program=URL             watch_claim.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX      its SHA-256
  --requests=URL            role_requests.py, which it imports
  --requests-sha256=HEX     its SHA-256

To see its log: journalctl --unit warmbase-claim
USAGE
}

check_arguments() {
  check_claim
  if [[ ! ${argument[role]} =~ ^(active|replica)$ ]]; then
    problems+=("--role='${argument[role]}': must be active or replica")
  fi
  if [[ ! ${argument[fencing]} =~ ^(alarm|stop)$ ]]; then
    problems+=("--fencing='${argument[fencing]}': must be alarm or stop")
  fi
  check_program program
  check_program requests
}

watcher() {
  echo "/usr/bin/python3 $PROGRAMS/watch_claim.py --bucket=${argument[bucket]} --key=${argument[key]} \
--role=${argument[role]} --fencing=${argument[fencing]}"
}

service() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION. To undo: systemctl disable --now warmbase-claim.timer
[Unit]
Description=Read the claim of the HBase root

[Service]
Type=oneshot
ExecStart=$(watcher)
MemoryMax=128M
TimeoutStartSec=120
UNIT
}

guard() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file, then systemctl daemon-reload.
[Service]
# "+": as root, whatever User= says.
ExecStartPre=+$(watcher) --before-start
UNIT
}

main() {
  begin "$@"
  put_program requests role_requests.py
  put_program program watch_claim.py
  put_file "$UNIT.service" 644 "$(service)"
  put_file "$UNIT.timer" 644 "$(minutely_timer "Read the claim of the HBase root each minute")"
  if [[ ${argument[fencing]} == stop ]]; then
    local daemon
    for daemon in master regionserver; do
      put_file "/etc/systemd/system/hbase-$daemon.service.d/20-warmbase-claim.conf" 644 "$(guard)"
    done
  fi
  reload_systemd
  systemctl enable --now --quiet warmbase-claim.timer
  end "the timer runs"
}

main "$@"
