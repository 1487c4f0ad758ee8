#!/bin/sh
# Prints why the cache of this node's RegionServer would be lost if the server restarted now; nothing if it would not.
# Systems Manager runs it as root, after a line that sets INDEX, FORMAT (chunked or streamed) and LONGEST_SECONDS: how
# long the cache may differ from its index.
set -eu

PROGRAM=/usr/local/lib/warmbase/before_regionserver.py
COUNTERS=/var/lib/warmbase/cache-counters.json
DROP_IN=/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf
SWITCH=/etc/warmbase/skip-index-guard

unready() {
  echo "$1"
  exit 0
}

systemctl is-active --quiet hbase-regionserver.service || unready "its RegionServer is not running"
[ -e "$DROP_IN" ] || unready "$DROP_IN is missing, so systemd would kill the RegionServer while it writes its index"
[ -e "$PROGRAM" ] || unready "$PROGRAM is missing, so nothing checks the index before the start"
[ ! -e "$SWITCH" ] || unready "$SWITCH exists, so nothing checks the index before the start"
[ -s "$INDEX" ] || {
  # A server that has had no region yet has cached nothing, and HBase has written no index.
  grep -Eqs '"used_bytes": *0[,}]' "$COUNTERS" || unready "there is no index at $INDEX"
  exit 0
}
damage=$(/usr/bin/python3 -I -c '
import pathlib, runpy, sys
print(runpy.run_path(sys.argv[1])["index_damage"](pathlib.Path(sys.argv[2]), sys.argv[3]))
' "$PROGRAM" "$INDEX" "$FORMAT") || unready "$PROGRAM could not check $INDEX"
[ -z "$damage" ] || unready "$INDEX is damaged: $damage"
changed=$(sed -n 's/.*"changed_at": *\([0-9][0-9]*\).*/\1/p' "$COUNTERS") || unready "$COUNTERS cannot be read"
behind=$(($(date +%s) - ${changed:-$(date +%s)}))
[ "$behind" -le "$LONGEST_SECONDS" ] || unready "the cache has differed from its index for $behind seconds"
