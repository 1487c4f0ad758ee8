#!/usr/bin/env bats
# The action that leaves a program and a drop-in for the RegionServer's unit; what systemd makes of them, and what the
# program says when it is run as systemd will.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

readonly DROP_IN=/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf
readonly SITE=/etc/hbase/conf/hbase-site.xml
readonly CACHE=/warmbase/cache/bucketcache/blocks
readonly INDEX=/warmbase/cache/index/bucketcache.index

setup() {
  hold_node
  on_node mkdir -p /warmbase/cache /warmbase/system
  on_node sh -c 'id hbase >/dev/null 2>&1 || useradd --system hbase'
}
teardown() { release_node; }

volume_of() { on_node mount -t tmpfs -o "size=$1" tmpfs /warmbase/cache; }

# guard ARGUMENT...: the action with usual arguments, but for these.
guard() {
  local -A given=(
    ['cache-volume-gib']=1 ['cache-mib']=512 ['index-mib']=8 ['index-format']=chunked ['cache-file']=$CACHE
    ['index-file']=$INDEX ['start-seconds']=300 ['stop-seconds']=1300 ['open-files']=131072 [processes]=65536
  )
  local each fetched=() arguments=()
  upload program before_regionserver.py
  for each in "${fetched[@]}" "$@"; do
    each=${each#--}
    given[${each%%=*}]=${each#*=}
  done
  for each in "${!given[@]}"; do arguments+=("--$each=${given[$each]}"); done
  mapfile -t arguments < <(printf '%s\n' "${arguments[@]}" | sort)
  act guard-regionserver "${arguments[@]}"
}

# site NAME=VALUE...: an hbase-site.xml that says so, as EMR writes it.
site() {
  local each
  {
    echo '<?xml version="1.0"?>'
    echo '<configuration>'
    for each in "$@"; do
      echo "<property><name>hbase.bucketcache.${each%%=*}</name><value>${each#*=}</value></property>"
    done
    echo '</configuration>'
  } | put "$SITE"
}

# start_pre: what systemd is answered before the RegionServer starts; leaves $status and $output.
start_pre() {
  local command
  command=$(sed -e :a -e '/\\$/{N;s/\\\n//;ta' -e '}' "$node$DROP_IN" | sed -n 's/^ExecStartPre=+//p')
  # shellcheck disable=SC2086 # systemd splits it, too
  run on_node $command
}

# start CACHE_MIB INDEX_MIB NAME=VALUE...: a launch with these figures, then a start where hbase-site.xml agrees but for these.
start() {
  guard --cache-volume-gib=65536 --cache-mib="$1" --index-mib="$2"
  assert_success
  site "size=$1" "ioengine=files:$CACHE" "persistent.path=$INDEX" "${@:3}"
  start_pre
}

fill() { on_node sh -c "mkdir -p \$(dirname $1) && dd if=/dev/zero of=$1 bs=1M count=$2 conv=notrunc status=none"; }

@test "guard-regionserver: systemd accepts what is left for it" {
  volume_of 1g
  mkdir -p "$node/run/systemd/system"
  stub systemctl <<<'echo "$@" >>/systemctl.calls'
  guard --stop-seconds=900 --start-seconds=120 --open-files=100000 --processes=5000
  assert_success
  assert_equal "$(<"$node/systemctl.calls")" daemon-reload
  run on_node cat "$DROP_IN"
  for line in TimeoutStopSec=900 TimeoutStartSec=120 LimitNOFILE=100000 LimitNPROC=5000 OOMScoreAdjust=-500; do
    assert_line "$line"
  done
  assert_line "RequiresMountsFor=/warmbase/cache /warmbase/system"
  assert_drop_in hbase-regionserver "$DROP_IN"
}

@test "guard-regionserver: the command that is left makes the directories, for hbase alone" {
  volume_of 1g
  guard
  assert_success
  start_pre
  assert_success
  for directory in bucketcache index; do
    assert_equal "$(on_node stat -c '%U:%G %a' "/warmbase/cache/$directory")" "hbase:hbase 750"
  done
}

@test "guard-regionserver: the command that is left goes by the cache as it was tuned since" {
  volume_of 1g
  guard
  assert_success
  site size=1024 ioengine=files:/warmbase/cache/tuned/blocks persistent.path=/warmbase/cache/tuned-index/index
  start_pre
  assert_failure 1
  assert_output --partial "1056 MiB needed" # 512 MiB with an index of 8 would have fitted
  assert_equal "$(on_node ls /warmbase/cache)" $'tuned\ntuned-index'
}

@test "guard-regionserver: a second run changes nothing" {
  volume_of 1g
  guard
  assert_success
  local before
  before=$(changed)
  guard
  assert_success
  assert_line "guard-regionserver: /usr/local/lib/warmbase/before_regionserver.py is as it should be"
  assert_line "guard-regionserver: $DROP_IN is as it should be"
  assert_equal "$(changed)" "$before"
}

@test "guard-regionserver: a primary is left alone" {
  put "$INSTANCE" <<<'{ "isMaster": true }'
  guard
  assert_success
  assert_output --partial "this is a primary node"
  assert [ ! -e "$node/usr/local/lib/warmbase" ]
}

@test "guard-regionserver: a program that is not what was uploaded is not installed" {
  guard --program-sha256="$(printf '0%.0s' {1..64})"
  assert_failure 1
  assert_output --partial "before_regionserver.py is not the uploaded file: its SHA-256 is "
  assert_equal "$(ls "$node/usr/local/lib/warmbase")" ""
}

@test "guard-regionserver: a program that cannot be fetched is said" {
  stub aws <<<'echo AccessDenied >&2; exit 1'
  act guard-regionserver --cache-volume-gib=1 --cache-mib=512 --index-mib=8 --index-format=chunked \
    --cache-file=$CACHE --index-file=$INDEX --start-seconds=300 --stop-seconds=1300 --open-files=131072 \
    --processes=65536 --program=s3://bucket/key.py --program-sha256="$(printf '0%.0s' {1..64})"
  assert_failure 1
  assert_output --partial AccessDenied
  assert_output --partial "fix: give the node's role s3:GetObject"
}

# --- the volume has 64 MiB ---

damaged() {
  local index_format=$1 reason=$2 bytes=$3
  volume_of 64m
  mkdir -p "$node/warmbase/cache/index"
  printf '%b' "$bytes" >"$node$INDEX"
  local before
  before=$(sha256sum <"$node$INDEX")
  guard --cache-mib=32 --index-mib=1 --index-format="$index_format"
  site size=32 "ioengine=files:$CACHE" "persistent.path=$INDEX"
  start_pre
  assert_success
  assert_output --partial "before-regionserver: moved $INDEX to $INDEX.damaged-"
  assert_output --partial "$reason"
  assert [ ! -e "$node$INDEX" ]
  assert_equal "$(cat "$node$INDEX".damaged-* | sha256sum)" "$before"
}
readonly HEADER='V2UF\0\0\0\0\0\0\047\020\0\0\0\0\0\0\0'
bats_test_function --description "before the RegionServer: an index with nothing behind its header is moved aside" -- \
  damaged chunked "20 bytes: nothing follows the first 20" "$HEADER\001"
bats_test_function --description "before the RegionServer: an index with fewer chunks than announced is moved aside" -- \
  damaged chunked "1 chunks, 2 announced" "$HEADER\002\003abc"
bats_test_function --description "before the RegionServer: an index that is cut off is moved aside" -- \
  damaged chunked "message 1 of 1, at byte 20 of 23, is cut off" "$HEADER\001\003ab"
bats_test_function --description "before the RegionServer: an index of something else is moved aside" -- \
  damaged chunked "begins with b'\\x7fELF', not b'V2UF'" '\0177ELFand so on, for twenty bytes'
bats_test_function --description "before the RegionServer: a later HBase's index that is cut off is moved aside" -- \
  damaged streamed "message 2, at byte 8 of 11, is cut off" 'V2UF\003abc\003ab'

@test "before the RegionServer: exactly enough room is accepted" {
  volume_of 64m
  start 60 2
  assert_success
  start 60 3
  assert_failure 1
}

@test "before the RegionServer: a sparse cache on a nearly full volume is our own room" {
  volume_of 64m
  fill $CACHE 50
  on_node truncate --size=56M $CACHE
  fill $INDEX 3
  start 56 4
  assert_success
}

@test "before the RegionServer: a sparse file's size is not taken for room" {
  volume_of 64m
  on_node mkdir -p /warmbase/cache/bucketcache
  on_node truncate --size=60M $CACHE
  fill /warmbase/cache/other 10
  start 60 1
  assert_failure 1
}

@test "before the RegionServer: too little room is refused with what, why and how" {
  volume_of 64m
  fill /warmbase/cache/other 20
  fill $CACHE 8
  start 50 2
  assert_failure 1
  assert_output --partial "/warmbase/cache has no room for the BucketCache"
  assert_output --partial "54 MiB needed; 36 MiB free and 8 MiB in its files"
  assert_output --partial "which may grow to: $CACHE 50 MiB, $INDEX 4 MiB"
  assert_output --partial "fix: remove other files from the volume"
  assert_output --partial "touch /etc/warmbase/skip-room-check"
}

@test "before the RegionServer: damaged copies give way to the cache, the oldest first" {
  volume_of 64m
  fill $INDEX.damaged-1700000001 4
  fill $INDEX.damaged-1700000002 4
  start 56 2
  assert_success
  assert_output --partial "removed $INDEX.damaged-1700000001 to make room"
  assert [ ! -e "$node$INDEX.damaged-1700000001" ]
  assert [ -e "$node$INDEX.damaged-1700000002" ]
}

@test "before the RegionServer: each guard can be switched off" {
  volume_of 64m
  put /etc/warmbase/skip-room-check </dev/null
  put /etc/warmbase/skip-index-guard </dev/null
  printf V2UF | put $INDEX
  start 1000 2
  assert_success
  assert_output --partial "index guard skipped, because /etc/warmbase/skip-index-guard exists"
  assert_output --partial "room check skipped, because /etc/warmbase/skip-room-check exists"
  assert_equal "$(<"$node$INDEX")" V2UF
}

@test "before the RegionServer: room is checked for the cache as it was enlarged" {
  volume_of 64m
  start 30 1 size=60
  assert_success
  start 30 1 size=61
  assert_failure 1
  assert_output --partial "67 MiB needed; 64 MiB free"
}

@test "before the RegionServer: files share the cache evenly, and what each takes is ours" {
  volume_of 64m
  local two=ioengine=files:/warmbase/cache/a/1,/warmbase/cache/b/2
  fill /warmbase/cache/a/1 30
  start 60 2 $two
  assert_success
  fill /warmbase/cache/b/2 30
  start 60 2 $two
  assert_success
  start 60 3 $two
  assert_failure 1
  assert_output --partial "66 MiB needed; 4 MiB free and 60 MiB in its files"
  assert_output --partial "/warmbase/cache/a/1 30 MiB, /warmbase/cache/b/2 30 MiB,"
}

@test "before the RegionServer: each volume has room for its own file, and the first for the index" {
  local two=$CACHE,/warmbase/cache-2/bucketcache/blocks
  volume_of 40m
  on_node mkdir -p /warmbase/cache-2
  guard --cache-volume-gib=1 --cache-mib=64 --index-mib=2 --cache-file="$two"
  assert_success
  run on_node cat "$DROP_IN"
  assert_line "RequiresMountsFor=/warmbase/cache /warmbase/cache-2 /warmbase/system"
  assert_line --partial "--volume=/warmbase/cache --volume=/warmbase/cache-2 --owner=hbase"
  site size=64 "ioengine=files:$two" "persistent.path=$INDEX"
  start_pre
  assert_failure 1
  assert_output --partial "/warmbase/cache-2 is not mounted"
  on_node mount -t tmpfs -o size=40m tmpfs /warmbase/cache-2
  start_pre
  assert_success
  assert_equal "$(on_node stat -c '%U %a' /warmbase/cache-2/bucketcache)" "hbase 750"
  fill /warmbase/cache-2/precious 20
  start_pre
  assert_failure 1
  assert_output --partial "/warmbase/cache-2 has no room for the BucketCache"
  assert_output --partial "32 MiB needed; 20 MiB free"
  on_node rm /warmbase/cache-2/precious
  fill /warmbase/cache/precious 6
  start_pre
  assert_failure 1
  assert_output --partial "/warmbase/cache has no room for the BucketCache"
  assert_output --partial "36 MiB needed; 34 MiB free"
}

elsewhere() {
  local places="/ /mnt1 /warmbase /warmbase/cached" before
  volume_of 64m
  on_node mkdir -p /mnt1 /warmbase/cached
  on_node ln -s /mnt1 /warmbase/cache/link
  # shellcheck disable=SC2086 # words, each a path
  before=$(on_node stat -c '%n %U %a' $places)
  # Half of 120 MiB lies on the volume of 64.
  start 120 2 "ioengine=files:$1,$CACHE"
  assert_success
  assert_output --partial "is not under /warmbase/cache: its directory and its room are not checked"
  # shellcheck disable=SC2086 # words, each a path
  assert_equal "$(on_node stat -c '%n %U %a' $places)" "$before"
  assert [ ! -e "$node/warmbase/elsewhere" ]
  start 122 2 "ioengine=files:$1,$CACHE"
  assert_failure 1
}
for path in /mnt1/cache /warmbase/cached/1 /warmbase/cache /warmbase/cache/../elsewhere/1 /warmbase/cache/link/1; do
  bats_test_function --description "before the RegionServer: a cache file at $path is told, and left out" -- elsewhere $path
done

@test "before the RegionServer: an index elsewhere is told, and left out" {
  volume_of 64m
  printf V2UF | put /mnt1/index
  fill /mnt1/index.damaged-1700000001 1
  start 64 9 persistent.path=/mnt1/index
  assert_success
  assert_output --partial "/mnt1/index is not under /warmbase/cache"
  assert_equal "$(on_node ls /mnt1)" $'index\nindex.damaged-1700000001'
  assert_equal "$(on_node stat -c %U /mnt1)" root
  start 65 9 persistent.path=/mnt1/index
  assert_failure 1
}

@test "guard-regionserver: without a cache nothing runs before the start, and the limits are the same" {
  stub systemctl <<<true
  act guard-regionserver --start-seconds=300 --stop-seconds=1300 --open-files=131072 --processes=65536
  assert_success
  run on_node cat "$DROP_IN"
  assert_line "RequiresMountsFor=/warmbase/system"
  assert_line TimeoutStopSec=1300
  refute_output --partial ExecStartPre
  assert [ ! -e "$node/usr/local/lib/warmbase/before_regionserver.py" ]
}

@test "guard-regionserver: half of what a cache needs is refused" {
  act guard-regionserver --start-seconds=300 --stop-seconds=1300 --open-files=131072 --processes=65536 --cache-mib=512
  assert_failure 2
  assert_output --partial "--cache-volume-gib='': must be"
  assert_output --partial "--program='': must be"
}
