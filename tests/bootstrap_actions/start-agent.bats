#!/usr/bin/env bats
# The action that starts the agent of Systems Manager: a node without one joins the cluster all the same.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

setup() { hold_node; }
teardown() { release_node; }

@test "start-agent: a disabled agent is enabled and started" {
  stub systemctl <<<'echo "$@" >>/calls'
  act start-agent
  assert_success
  assert_equal "$(tail -n 1 "$node/calls")" "enable --now amazon-ssm-agent.service"
  refute_output --partial "cannot run a command"
}

@test "start-agent: a node without the agent, or with one that fails, says so and goes on" {
  local failing
  for failing in cat enable; do
    stub systemctl <<<"[ \"\$1\" != $failing ]"
    act start-agent
    assert_success
    assert_output --partial "warmbase cannot run a command on"
  done
}
