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

# lines TEXT: the text with a final newline, for mapfile. An empty text stays empty, so that mapfile reads no line.
lines() { printf %s "${1:+$1$'\n'}"; }

# shell COMMAND...: the output of the HBase shell; the status is not 0 where a command fails.
# No command contains a value: a command is Ruby, and it reads values from the environment.
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

# authenticate: gets a ticket as HBase's own user, a superuser, in a cache of this step. EMR writes the keytab only on a
# cluster with Kerberos. Only root may be able to read it, and the ticket is for this user.
authenticate() {
  local directory
  if [[ ! -e $KEYTAB ]]; then return; fi
  directory=$(mktemp -d)
  # shellcheck disable=SC2064 # the directory of now
  trap "rm -rf '$directory'" EXIT
  export KRB5CCNAME=FILE:$directory/ticket
  sudo kinit -k -t "$KEYTAB" -c "$KRB5CCNAME" "hbase/$(hostname -f)" >&2 || fail "$KEYTAB gave no ticket for HBase's user"
  sudo chown "$(id -u)" "$directory/ticket"
}

readonly KEYTAB=/etc/hbase.keytab ANSWER=$1
shift
authenticate
