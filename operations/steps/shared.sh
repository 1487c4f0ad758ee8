# shellcheck shell=bash
# What every step begins with: it says on stderr what it does, and leaves its answer, one JSON document, in S3.
#
# It runs on the first primary, as user hadoop, by EMR's command-runner.jar, which is given the whole text.
set -euo pipefail

# answer JSON: what is found; read by whoever asked for the step.
answer() {
  printf '%s\n' "$1" | aws s3 cp --only-show-errors - "$ANSWER"
  echo "answer: $1" >&2
}

# fail WHY: the answer, too, says why.
fail() {
  echo "$1" >&2
  answer "{\"error\": $(quoted "$1")}"
  exit 1
}

# quoted TEXT: as JSON has it.
quoted() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$1"; }

# array TEXT...: as JSON has them.
array() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@"; }

# shell COMMAND...: what HBase's shell prints; it ends with another status where a command fails.
# Not by a pipe: who writes into one whose reader has ended is ended too.
shell() { hbase shell --noninteractive <<<"$(printf '%s\n' "$@")"; }

# tables: every table of users, one a line.
tables() { shell "list" | sed -n '/^TABLE/,/row(s)/p' | sed '1d;$d'; }

# children PATH: what ZooKeeper has there, one a line; it fails where ZooKeeper does not say.
children() {
  local said
  said=$(hbase zkcli ls "$1" 2>/dev/null | tail -1)
  [[ $said =~ ^\[.*\]$ ]] || return 1
  sed 's/^\[//; s/\]$//; s/, /\n/g' <<<"$said" | sed '/^$/d'
}

# stopped: no RegionServer and no master has its place in ZooKeeper.
stopped() {
  local servers all
  servers=$(children /hbase/rs) && all=$(children /hbase) || return 1
  [[ -z $servers ]] && ! grep -qx master <<<"$all"
}

readonly ANSWER=$1
shift
