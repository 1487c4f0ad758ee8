#!/usr/bin/env bash
# Whether each table has a snapshot below the URL that is whole. Answers the tables that have none.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly URL=$1
readonly INFO=org.apache.hadoop.hbase.snapshot.SnapshotInfo

# snapshots: name and table of each, one a line.
snapshots() { hbase $INFO -remote-dir "$URL" -list-snapshots | awk -F'|' 'NF >= 4 && $1 !~ /SNAPSHOT/ {gsub(/ /, ""); print $1, $NF}'; }

# whole SNAPSHOT: every file of it is there.
whole() {
  local said
  said=$(hbase $INFO -remote-dir "$URL" -snapshot "$1" -stats) && [[ $said != *"BAD SNAPSHOT"* ]]
}

main() {
  local exported wanted table name of good missing=()
  exported=$(snapshots) || fail "no snapshots can be listed below $URL"
  wanted=$(tables) || fail "HBase's shell does not list the tables"
  for table in $wanted; do
    good=no
    while read -r name of; do
      if [[ $of == "$table" ]] && whole "$name"; then good=yes; fi
    done <<<"$exported"
    if [[ $good == no ]]; then missing+=("$table"); fi
  done
  answer "{\"missing\": $(array "${missing[@]}")}"
}

main
