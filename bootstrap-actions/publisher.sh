# shellcheck shell=bash
# Installs a program that publishes figures of a node each minute. Like shared.sh, it replaces the line that sources it;
# it uses that.

# publisher_service PURPOSE COMMAND: prints the unit that publishes once; it must never slow the node's server down.
publisher_service() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION. To undo: systemctl disable --now warmbase-${ACTION#publish-}.timer
[Unit]
Description=Publish $1 over the last minute

[Service]
Type=oneshot
ExecStart=$2
Nice=19
IOSchedulingClass=idle
CPUQuota=20%
MemoryMax=128M
TimeoutStartSec=50
UNIT
}

# install_publisher PURPOSE PROGRAM ARGUMENT...: fetches the program and what it imports, and starts its timer on every node
# except the primaries. The unit's name is that of the action: warmbase-cache-metrics for publish-cache-metrics.
install_publisher() {
  local unit=warmbase-${ACTION#publish-}
  if primary_node; then
    end "this is a primary node: no server with a cache runs here, so there is nothing to publish"
    exit 0
  fi
  put_program requests role_requests.py
  put_program program "$2"
  put_file "/etc/systemd/system/$unit.service" 644 \
    "$(publisher_service "$1" "/usr/bin/python3 $PROGRAMS/$2 ${*:3}")"
  put_file "/etc/systemd/system/$unit.timer" 644 "$(minutely_timer "Publish $1 each minute")"
  reload_systemd
  systemctl enable --now --quiet "$unit.timer"
  end "the timer runs"
}
