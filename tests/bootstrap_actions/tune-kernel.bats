#!/usr/bin/env bats
# The action that leaves the kernel's settings, and what holds for a run of any action: as root, said, and completed.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

setup() {
  hold_node
  for tool in sysctl systemd-tmpfiles; do stub $tool <<<"echo $tool \"\$@\" >>/calls"; done
}
teardown() { release_node; }

readonly ARGUMENTS=(--open-files=131072 --processes=65536)
readonly SETTINGS=/etc/sysctl.d/90-warmbase.conf

@test "tune-kernel: the kernel is given each setting by its own tool" {
  act tune-kernel "${ARGUMENTS[@]}"
  assert_success
  assert_equal "$(<"$node/calls")" "sysctl --quiet --load $SETTINGS
systemd-tmpfiles --create /etc/tmpfiles.d/warmbase.conf"
  run on_node cat $SETTINGS
  assert_line "vm.max_map_count = 1048576"
  assert_line "vm.swappiness = 1"
  assert_line "vm.dirty_bytes = $((1024 * MIB))"
  assert_line "vm.dirty_background_bytes = $((256 * MIB))"
  run on_node grep '^w ' /etc/tmpfiles.d/warmbase.conf
  assert_line --regexp '/enabled - - - - madvise$'
  assert_line --regexp '/defrag - - - - madvise$'
  assert_line --regexp '/shmem_enabled - - - - advise$'
  run on_node grep '^hbase' /etc/security/limits.d/zz-warmbase.conf
  assert_line "hbase - nofile 131072"
  assert_line "hbase - nproc 65536"
}

@test "tune-kernel: the kernel knows each setting, and each stands under its reason" {
  act tune-kernel "${ARGUMENTS[@]}"
  assert_success
  while read -r name _; do
    assert [ -e "/proc/sys/${name//./\/}" ]
    run grep -B 2 "^$name = " "$node$SETTINGS"
    assert_line --regexp '^# '
  done < <(grep -v '^#' "$node$SETTINGS")
}

@test "tune-kernel: the user hadoop goes on as root" {
  stub sudo <<<'echo "$@"'
  install -m 755 "$UPLOADED/tune-kernel.sh" "$node/action.sh"
  run on_node setpriv --reuid=65534 --clear-groups /action.sh "${ARGUMENTS[@]}"
  assert_output -- "-- bash /action.sh ${ARGUMENTS[*]}"
}

@test "tune-kernel: a run that did not end is said, and completed by the next" {
  local state=$node/var/lib/warmbase/actions/tune-kernel
  stub sysctl <<<'exit 1'
  act tune-kernel "${ARGUMENTS[@]}"
  assert_failure 1
  assert_output --partial "tune-kernel: failed at line "
  assert_equal "$(head -n 1 "$state")" begun
  stub sysctl </dev/null
  act tune-kernel "${ARGUMENTS[@]}"
  assert_success
  assert_line "tune-kernel: an earlier run did not end: checking its steps again"
  assert_equal "$(head -n 1 "$state")" "done"
}

@test "tune-kernel: a second run changes nothing" {
  act tune-kernel "${ARGUMENTS[@]}"
  assert_success
  local before
  before=$(changed)
  act tune-kernel "${ARGUMENTS[@]}"
  assert_success
  refute_output --partial wrote
  refute_output --partial "did not end"
  assert_equal "$(changed)" "$before"
}

@test "tune-kernel: a primary is given the same" {
  put "$INSTANCE" <<<'{ "isMaster": true }'
  act tune-kernel "${ARGUMENTS[@]}"
  assert_success
  assert [ -e "$node$SETTINGS" ]
}
