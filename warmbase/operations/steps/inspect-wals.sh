#!/usr/bin/env bash
# Lists the files of the write-ahead log on HDFS, which hold edits that are not in the root. The answer also says whether
# HBase is still down: when it runs again, it writes to the log.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local directory listing files down=false
  directory=$(hbase org.apache.hadoop.hbase.util.HBaseConfTool hbase.wal.dir 2>/dev/null | tail -1)
  if [[ -z $directory || $directory == null ]]; then
    directory=$(hbase org.apache.hadoop.hbase.util.HBaseConfTool hbase.rootdir 2>/dev/null | tail -1)
  fi
  if [[ ! $directory =~ ^[a-z0-9]+:/ ]]; then fail "the HBase configuration names no directory for the write-ahead log"; fi
  # The master creates the directory when it first starts, so a directory that cannot be listed does not count as empty.
  listing=$(hdfs dfs -ls -R "$directory/WALs") || fail "$directory/WALs cannot be listed"
  # Seven columns come before the path. A line in another form still counts as a file.
  mapfile -t files < <(sed -nE '/^-/ { s/^([^ ]+ +){7}//; p }' <<<"$listing")
  if stopped; then
    down=true
  elif ! children /hbase/rs >/dev/null || ! children /hbase >/dev/null; then
    fail "ZooKeeper did not answer whether HBase is down"
  fi
  answer "{\"directory\": $(quoted "$directory/WALs"), \"files\": $(array "${files[@]}"), \"down\": $down}"
}

main
