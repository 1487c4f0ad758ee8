#!/usr/bin/env bats
# The action that leaves a timer and what it runs each minute on a Trino worker: accepted by systemd, and started as
# systemd will.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

readonly UNIT=/etc/systemd/system/warmbase-trino-metrics

setup() {
  hold_node
  stub systemctl <<<'echo "$@" >>/calls'
  fetched=()
  upload program publish_trino_metrics.py
  upload requests role_requests.py
}
teardown() { release_node; }

publish() { act publish-trino-metrics --catalog=hive --least-hit-rate=0.75 "${fetched[@]}"; }

@test "publish-trino-metrics: the timer is switched on, and systemd accepts it with its service" {
  publish
  assert_success
  run cat "$node/calls"
  assert_line "enable --now --quiet warmbase-trino-metrics.timer"
  run cat "$node$UNIT.service"
  assert_line "CPUQuota=20%"
  assert_line "Description=Publish the figures of the Trino worker's cache over the last minute"
  if ! command -v systemd-analyze >/dev/null; then skip "needs systemd-analyze to check the units; the rest passed"; fi
  run on_node systemd-analyze verify $UNIT.timer
  refute_output --partial warmbase
}

@test "publish-trino-metrics: the command that is left starts, and says why it publishes nothing" {
  publish
  assert_success
  local command
  command=$(sed -n 's/^ExecStart=//p' "$node$UNIT.service")
  # shellcheck disable=SC2086 # systemd splits it, too
  run on_node $command --metadata=http://127.0.0.1:1 --trino=http://127.0.0.1:1
  assert_failure 1
  assert_output --partial "the worker at http://127.0.0.1:1 does not tell what its cache did"
  assert_output --partial "nothing was published"
}

@test "publish-trino-metrics: a second run changes nothing" {
  publish
  assert_success
  local before
  before=$(changed)
  publish
  assert_success
  refute_output --partial wrote
  assert_equal "$(changed)" "$before"
}

@test "publish-trino-metrics: a primary is left alone" {
  put "$INSTANCE" <<<'{ "isMaster": true }'
  publish
  assert_success
  assert_output --partial "this is a primary node"
  assert [ ! -e "$node/usr/local/lib/warmbase" ]
}
