# shellcheck shell=bash
# The part that every step shares. A step writes its progress to stderr, and its answer, one JSON document, to S3.
#
# EMR's command-runner.jar runs the whole text on the first primary node, as user hadoop.
set -euo pipefail

# answer JSON: writes the answer, which the command that added the step reads.
answer() {
  printf '%s\n' "$1" | aws s3 cp --only-show-errors - "$ANSWER"
  echo "answer: $1" >&2
}

# fail REASON: ends the step; the answer contains the reason.
fail() {
  echo "$1" >&2
  answer "{\"error\": $(quoted "$1")}"
  exit 1
}

# quoted TEXT: the text as a JSON string.
quoted() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$1"; }

# array TEXT...: the texts as a JSON array.
array() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@"; }

# shell COMMAND...: the output of the HBase shell; the status is not 0 where a command fails.
# Not through a pipe: a writer is killed when the reader of its pipe ends first.
shell() { hbase shell --noninteractive <<<"$(printf '%s\n' "$@")"; }

# tables: every user table, one on each line.
tables() { shell "list" | sed -n '/^TABLE/,/row(s)/p' | sed '1d;$d'; }

# children PATH: the children of a node in ZooKeeper, one on each line; it fails where ZooKeeper does not answer. On a
# busy node one connection can be lost while the next is answered, so two more follow.
children() {
  local reply attempt
  for attempt in 1 2 3; do
    if ((attempt > 1)); then sleep 2; fi
    reply=$(hbase zkcli ls "$1" 2>/dev/null | grep -x '\[.*\]' | tail -1) || continue
    sed 's/^\[//; s/\]$//; s/, /\n/g' <<<"$reply" | sed '/^$/d'
    return
  done
  return 1
}

# stopped: ZooKeeper lists no RegionServer and no master.
stopped() {
  local servers all
  servers=$(children /hbase/rs) && all=$(children /hbase) || return 1
  [[ -z $servers ]] && ! grep -qx master <<<"$all"
}

readonly ANSWER=$1
shift
