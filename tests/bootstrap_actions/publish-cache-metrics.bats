#!/usr/bin/env bats
# The action that leaves a timer and what it runs each minute: accepted by systemd, and started as systemd will.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

readonly UNIT=/etc/systemd/system/warmbase-cache-metrics

setup() {
  hold_node
  stub systemctl <<<'echo "$@" >>/calls'
  fetched=()
  upload program publish_cache_metrics.py
  upload requests role_requests.py
}
teardown() { release_node; }

@test "publish-cache-metrics: the timer is switched on, and systemd accepts it with its service" {
  act publish-cache-metrics --misses-for-one=2 "${fetched[@]}"
  assert_success
  run cat "$node/calls"
  assert_line "enable --now --quiet warmbase-cache-metrics.timer"
  run cat "$node$UNIT.service"
  assert_line "CPUQuota=20%"
  assert_line "MemoryMax=128M"
  assert_line "Nice=19"
  if ! command -v systemd-analyze >/dev/null; then skip "needs systemd-analyze to check the units; the rest passed"; fi
  run on_node systemd-analyze verify $UNIT.timer
  refute_output --partial warmbase
  echo Misspelt=1 >>"$node$UNIT.timer"
  run on_node systemd-analyze verify $UNIT.timer
  assert_output --partial Misspelt
}

@test "publish-cache-metrics: the command that is left starts, and says why it publishes nothing" {
  act publish-cache-metrics --misses-for-one=2 "${fetched[@]}"
  assert_success
  local command
  command=$(sed -n 's/^ExecStart=//p' "$node$UNIT.service")
  # shellcheck disable=SC2086 # systemd splits it, too
  run on_node $command --metadata=http://127.0.0.1:1 --region-server=http://127.0.0.1:1
  assert_failure 1
  assert_output --partial "the RegionServer at http://127.0.0.1:1 does not answer"
  assert_output --partial "nothing was published"
}

@test "publish-cache-metrics: a second run changes nothing" {
  act publish-cache-metrics --misses-for-one=2 "${fetched[@]}"
  assert_success
  local before
  before=$(changed)
  act publish-cache-metrics --misses-for-one=2 "${fetched[@]}"
  assert_success
  refute_output --partial wrote
  assert_equal "$(changed)" "$before"
}

@test "publish-cache-metrics: a primary is left alone" {
  put "$INSTANCE" <<<'{ "isMaster": true }'
  act publish-cache-metrics --misses-for-one=2 "${fetched[@]}"
  assert_success
  assert_output --partial "this is a primary node"
  assert [ ! -e "$node/usr/local/lib/warmbase" ]
}
