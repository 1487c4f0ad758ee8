#!/usr/bin/env bash
# Checks that each table has a complete snapshot below the URL that contains every current store file of the table. The
# answer lists the tables without a snapshot, and those whose snapshots lack current store files.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly URL=${1%/}
readonly INFO=org.apache.hadoop.hbase.snapshot.SnapshotInfo

# snapshots: the name and the table of each snapshot, one on each line.
snapshots() { hbase $INFO -remote-dir "$URL" -list-snapshots | awk -F'|' 'NF >= 4 && $1 !~ /SNAPSHOT/ {gsub(/ /, ""); print $1, $NF}'; }

# whole SNAPSHOT: every file of the snapshot exists.
whole() {
  local report
  report=$(hbase $INFO -remote-dir "$URL" -snapshot "$1" -stats) && [[ $report != *"BAD SNAPSHOT"* ]]
}

# store_files TABLE: the names of its store files (REGION/FAMILY/FILE in the table's directory), one on each line.
store_files() {
  local directory=default/$1
  if [[ $1 == *:* ]]; then directory=${1/://}; fi
  # A family's name may contain blanks.
  hdfs dfs -ls -R "$ROOT/data/$directory" |
    sed -nE '/^-/!d; \|/[0-9a-f]{32}/recovered\.edits/|d; s|.*/[0-9a-f]{32}/[^/.][^/]*/([^/.][^/]*)$|\1|p' | sort -u
}

# current SNAPSHOT: its manifest, a protobuf message, names each of the FILES.
current() {
  local named
  if [[ -z $FILES ]]; then return 0; fi
  # One pass over the manifest: a large table has a hundred thousand files.
  named=$(hdfs dfs -cat "$URL/.hbase-snapshot/$1/data.manifest" | grep -aoF -f <(printf '%s\n' "$FILES") | sort -u) || return 1
  [[ -z $(comm -23 <(printf '%s\n' "$FILES") <(printf '%s\n' "$named")) ]]
}

main() {
  local exported list wanted table name of state missing=() stale=()
  ROOT=$(hbase org.apache.hadoop.hbase.util.HBaseConfTool hbase.rootdir 2>/dev/null | tail -1)
  exported=$(snapshots) || fail "the snapshots below $URL could not be listed"
  list=$(tables) || fail "the HBase shell could not list the tables"
  mapfile -t wanted < <(lines "$list")
  for table in "${wanted[@]}"; do
    state=missing
    FILES=$(store_files "$table") || fail "the store files of $table below $ROOT could not be listed"
    while read -r name of; do
      if [[ $of != "$table" ]] || ! whole "$name"; then continue; fi
      if current "$name"; then state=good; elif [[ $state == missing ]]; then state=stale; fi
    done <<<"$exported"
    case $state in
      missing) missing+=("$table") ;;
      stale) stale+=("$table") ;;
    esac
  done
  answer "{\"missing\": $(array "${missing[@]}"), \"stale\": $(array "${stale[@]}")}"
}

main
