#!/usr/bin/env bats
# The action that leaves a program and a drop-in for Trino's unit on a worker; what systemd makes of them, and what the
# program says when it is run as systemd will.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

readonly DROP_IN=/etc/systemd/system/trino-server.service.d/10-warmbase.conf
readonly CATALOG=/etc/trino/conf/catalog/hive.properties
readonly TWO=/warmbase/cache/trino,/warmbase/cache-2/trino

setup() {
  hold_node
  on_node mkdir -p /warmbase/cache /warmbase/system
  on_node sh -c 'id trino >/dev/null 2>&1 || useradd --system trino'
}
teardown() { release_node; }

# mounted NAME SIZE: mounts a volume of that size at /warmbase/NAME.
mounted() {
  on_node mkdir -p "/warmbase/$1"
  on_node mount -t tmpfs -o "size=$2" tmpfs "/warmbase/$1"
}

# guard DIRECTORIES: the action for a cache of 1 GiB in each of these directories.
guard() {
  local fetched=()
  upload program before_trino_worker.py
  act guard-trino-worker --cache-directories="$1" --cache-gib=1 --spill-directory=/warmbase/system/trino-spill \
    --catalog=hive --start-seconds=400 --open-files=100000 --processes=5000 "${fetched[@]}"
}

# catalog KEY=VALUE...: the catalog's file, as EMR writes it.
catalog() { printf '%s\n' connector.name=hive "$@" | put "$CATALOG"; }

# start_pre: what systemd is answered before Trino starts; leaves $status and $output.
start_pre() {
  local command
  command=$(sed -e :a -e '/\\$/{N;s/\\\n//;ta' -e '}' "$node$DROP_IN" | sed -n 's/^ExecStartPre=+//p')
  # shellcheck disable=SC2086 # systemd splits it, too
  run on_node $command
}

fill() { on_node sh -c "mkdir -p \$(dirname $1) && dd if=/dev/zero of=$1 bs=1M count=$2 conv=notrunc status=none"; }

@test "guard-trino-worker: systemd accepts what is left for it" {
  guard $TWO
  assert_success
  run on_node cat "$DROP_IN"
  assert_line "RequiresMountsFor=/warmbase/cache /warmbase/cache-2 /warmbase/system"
  for line in TimeoutStartSec=400 LimitNOFILE=100000 LimitNPROC=5000; do assert_line "$line"; done
  assert_drop_in trino-server "$DROP_IN"
}

@test "guard-trino-worker: the command that is left makes the directories, for trino alone" {
  mounted cache 1200m
  mounted cache-2 1200m
  mounted system 64m
  guard $TWO
  assert_success
  catalog fs.cache.directories=$TWO fs.cache.max-sizes=1GB,1GB
  start_pre
  assert_success
  refute_output
  for directory in cache/trino cache-2/trino system/trino-spill; do
    assert_equal "$(on_node stat -c '%U:%G %a' "/warmbase/$directory")" "trino:trino 750"
  done
}

@test "guard-trino-worker: a volume that is not mounted refuses the start" {
  mounted system 64m
  guard /warmbase/cache/trino
  assert_success
  start_pre
  assert_failure 1
  assert_output --partial "/warmbase/cache is not mounted"
  assert_output --partial "fix: mount -a"
  assert [ ! -e "$node/warmbase/cache/trino" ]
  on_node umount /warmbase/system
  mounted cache 1200m
  start_pre
  assert_failure 1
  assert_output --partial "/warmbase/system is not mounted"
}

@test "guard-trino-worker: too little room is told, and Trino starts" {
  mounted cache 64m
  mounted system 64m
  guard /warmbase/cache/trino
  assert_success
  catalog fs.cache.directories=/warmbase/cache/trino fs.cache.max-sizes=60MB
  fill /warmbase/cache/trino/LOCAL/1048576/0/a/0 50
  start_pre
  assert_success
  refute_output
  fill /warmbase/cache/other 10
  start_pre
  assert_success
  assert_output --partial "/warmbase/cache/trino may take 60 MiB, but its volume has 4 MiB free and 50 MiB in pages"
  assert_output --partial "fix: remove other files from the volume"
}

@test "guard-trino-worker: the catalog as it was tuned since wins, and the launch serves without it" {
  mounted cache 64m
  mounted system 64m
  guard /warmbase/cache/trino
  assert_success
  start_pre
  assert_success
  assert_output --partial "$CATALOG does not help: FileNotFoundError"
  assert_output --partial "/warmbase/cache/trino may take 1024 MiB"
  for sizes in "" 1GB,1GB 1GiB; do
    catalog fs.cache.directories=/warmbase/cache/tuned "fs.cache.max-sizes=$sizes"
    start_pre
    assert_success
    assert_output --partial "does not help: ValueError"
  done
  assert [ ! -e "$node/warmbase/cache/tuned" ]
  catalog 'fs.cache.directories = /warmbase/cache/tuned' fs.cache.max-sizes=0.03125GB
  start_pre
  assert_success
  refute_output
  assert_equal "$(on_node stat -c %U /warmbase/cache/tuned)" trino
}

@test "guard-trino-worker: a second run changes nothing" {
  guard $TWO
  assert_success
  local before
  before=$(changed)
  guard $TWO
  assert_success
  refute_output --partial wrote
  assert_equal "$(changed)" "$before"
}

@test "guard-trino-worker: a primary is left alone" {
  put "$INSTANCE" <<<'{ "isMaster": true }'
  guard $TWO
  assert_success
  assert_output --partial "this is a primary node"
  assert [ ! -e "$node/usr/local/lib/warmbase" ]
}
