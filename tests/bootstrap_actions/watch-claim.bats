#!/usr/bin/env bats
# The action that leaves the watch on the claim: its timer, and the guard before each start of HBase.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

readonly UNITS=/etc/systemd/system
readonly CLAIM=(--bucket=root --key=hbase.warmbase-claim --role=active)

setup() {
  hold_node
  stub systemctl <<<'echo "$@" >>/calls'
  fetched=()
  upload program watch_claim.py
  upload requests role_requests.py
}
teardown() { release_node; }

@test "watch-claim: the timer is switched on, on a primary too, and systemd accepts it" {
  put "$INSTANCE" <<<'{ "isMaster": true }'
  act watch-claim "${CLAIM[@]}" --fencing=alarm "${fetched[@]}"
  assert_success
  run cat "$node/calls"
  assert_line "enable --now --quiet warmbase-claim.timer"
  assert [ ! -e "$node$UNITS/hbase-regionserver.service.d" ]
  if ! command -v systemd-analyze >/dev/null; then skip "needs systemd-analyze to check the units; the rest passed"; fi
  run on_node systemd-analyze verify $UNITS/warmbase-claim.timer
  refute_output --partial warmbase
}

@test "watch-claim: with --fencing=stop, a start of HBase asks first, and a claim that cannot be read lets it start" {
  act watch-claim "${CLAIM[@]}" --fencing=stop "${fetched[@]}"
  assert_success
  put /etc/hbase/conf/hbase-site.xml <<<'<configuration/>'
  local daemon command
  for daemon in master regionserver; do
    command=$(sed -n 's/^ExecStartPre=+//p' "$node$UNITS/hbase-$daemon.service.d/20-warmbase-claim.conf")
    # shellcheck disable=SC2086 # systemd splits it, too
    run on_node $command --metadata=http://127.0.0.1:1
    assert_success
    assert_output --partial "s3://root/hbase.warmbase-claim: "
  done
}

@test "watch-claim: systemd accepts what asks before a start of HBase" {
  act watch-claim "${CLAIM[@]}" --fencing=stop "${fetched[@]}"
  assert_success
  local daemon
  for daemon in hbase-master hbase-regionserver; do
    assert_drop_in "$daemon" "$UNITS/$daemon.service.d/20-warmbase-claim.conf"
  done
}

@test "watch-claim: a second run changes nothing" {
  act watch-claim "${CLAIM[@]}" --fencing=stop "${fetched[@]}"
  assert_success
  local before
  before=$(changed)
  act watch-claim "${CLAIM[@]}" --fencing=stop "${fetched[@]}"
  assert_success
  refute_output --partial wrote
  assert_equal "$(changed)" "$before"
}
