#!/usr/bin/env bash
# What is left in the write-ahead log on HDFS: files of it are edits that are nowhere else. Answers each file, and whether
# HBase is still down: one that was started again writes to it.
# shellcheck source=operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

main() {
  local directory found files down=false
  directory=$(hbase org.apache.hadoop.hbase.util.HBaseConfTool hbase.wal.dir 2>/dev/null | tail -1)
  if [[ -z $directory || $directory == null ]]; then
    directory=$(hbase org.apache.hadoop.hbase.util.HBaseConfTool hbase.rootdir 2>/dev/null | tail -1)
  fi
  if [[ ! $directory =~ ^[a-z0-9]+:/ ]]; then fail "HBase's configuration does not say where its write-ahead log lies"; fi
  # A master that ever ran has made the directory: one that cannot be listed is no empty one.
  found=$(hdfs dfs -ls -R "$directory/WALs") || fail "$directory/WALs cannot be listed"
  files=$(awk '/^-/ {print $NF}' <<<"$found")
  if stopped; then
    down=true
  elif ! children /hbase/rs >/dev/null || ! children /hbase >/dev/null; then
    fail "ZooKeeper does not say whether HBase is down"
  fi
  # shellcheck disable=SC2086 # HBase's own names, without blanks
  answer "{\"directory\": $(quoted "$directory/WALs"), \"files\": $(array $files), \"down\": $down}"
}

main
