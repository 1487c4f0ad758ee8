#!/usr/bin/env bash
# Whether each table has a snapshot below the URL that is whole and has every store file that the table has now. Answers
# the tables that have none, and those whose snapshots are older than what was written since.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly URL=${1%/}
readonly INFO=org.apache.hadoop.hbase.snapshot.SnapshotInfo

# snapshots: name and table of each, one a line.
snapshots() { hbase $INFO -remote-dir "$URL" -list-snapshots | awk -F'|' 'NF >= 4 && $1 !~ /SNAPSHOT/ {gsub(/ /, ""); print $1, $NF}'; }

# whole SNAPSHOT: every file of it is there.
whole() {
  local said
  said=$(hbase $INFO -remote-dir "$URL" -snapshot "$1" -stats) && [[ $said != *"BAD SNAPSHOT"* ]]
}

# store_files TABLE: names of its store files, one a line: REGION/FAMILY/FILE below the table's directory.
store_files() {
  local directory=default/$1
  if [[ $1 == *:* ]]; then directory=${1/://}; fi
  hdfs dfs -ls -R "$ROOT/data/$directory" | awk '/^-/ {print $NF}' |
    sed -nE 's|.*/[0-9a-f]{32}/([^/.][^/]*)/([^/.][^/]*)$|\1 \2|p' | awk '$1 != "recovered.edits" {print $2}' | sort -u
}

# current SNAPSHOT: its manifest, a message of protobuf, names each of the FILES.
current() {
  local named
  if [[ -z $FILES ]]; then return 0; fi
  # In one pass: a large table has a hundred thousand files.
  named=$(hdfs dfs -cat "$URL/.hbase-snapshot/$1/data.manifest" | grep -aoF -f <(printf '%s\n' "$FILES") | sort -u) || return 1
  [[ -z $(comm -23 <(printf '%s\n' "$FILES") <(printf '%s\n' "$named")) ]]
}

main() {
  local exported wanted table name of found missing=() stale=()
  ROOT=$(hbase org.apache.hadoop.hbase.util.HBaseConfTool hbase.rootdir 2>/dev/null | tail -1)
  exported=$(snapshots) || fail "no snapshots can be listed below $URL"
  wanted=$(tables) || fail "HBase's shell does not list the tables"
  for table in $wanted; do
    found=missing
    FILES=$(store_files "$table") || fail "the store files of $table cannot be listed below $ROOT"
    while read -r name of; do
      if [[ $of != "$table" ]] || ! whole "$name"; then continue; fi
      if current "$name"; then found=good; elif [[ $found == missing ]]; then found=stale; fi
    done <<<"$exported"
    case $found in
      missing) missing+=("$table") ;;
      stale) stale+=("$table") ;;
    esac
  done
  answer "{\"missing\": $(array "${missing[@]}"), \"stale\": $(array "${stale[@]}")}"
}

main
