#!/bin/sh
# Writes one JSON document to S3: the HFiles that the cache of this node's RegionServer holds, by its persisted index,
# when that was written, and the publisher's counters. Systems Manager runs it as root, after a line that sets INDEX,
# FORMAT (chunked or streamed), READER (the program that reads the index) and ANSWER (an S3 URL).
#
# The answer goes to S3, because Systems Manager returns only 24,000 characters, and a server has thousands of HFiles.
set -eu

COUNTERS=/var/lib/warmbase/cache-counters.json

fail() {
  echo "$1" >&2
  exit 1
}

systemctl is-active --quiet hbase-regionserver.service || fail "its RegionServer is not running"
[ -s "$COUNTERS" ] || fail "$COUNTERS cannot be read: the publisher of the node's figures has not run"
if [ -s "$INDEX" ]; then
  written=$(stat -c %Y "$INDEX")
  # Reads of clients come first.
  files=$(nice -n 19 /usr/bin/python3 -I -c "$READER" "$INDEX" "$FORMAT") || fail "$INDEX could not be read"
else
  # A server that has had no region yet has cached nothing, and HBase has written no index.
  grep -Eq '"used_bytes": *0[,}]' "$COUNTERS" || fail "there is no index at $INDEX"
  written=$(date +%s)
  files={}
fi
printf '{"now": %s, "written_at": %s, "publisher": %s, "files": %s}\n' \
  "$(date +%s)" "$written" "$(cat "$COUNTERS")" "$files" | aws s3 cp --only-show-errors - "$ANSWER"
