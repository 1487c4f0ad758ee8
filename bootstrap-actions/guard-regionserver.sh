#!/usr/bin/env bash
# EMR bootstrap action, on every node except the primaries: prepares what systemd does before and around each RegionServer.
#
# The hbase user and the unit do not exist yet, so systemd runs later what needs them. `--help` lists the arguments.
# It leaves on the node
#   /usr/local/lib/warmbase/before_regionserver.py, where there is a cache
#   /etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf
ACTION=guard-regionserver
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly DROP_IN=/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf

argument=(
  [cache_volume_gib]='' [cache_mib]='' [index_mib]='' [index_format]='' [cache_file]='' [index_file]=''
  [start_seconds]='' [stop_seconds]='' [open_files]='' [processes]='' [program]='' [program_sha256]=''
)

usage() {
  cat <<USAGE
guard-regionserver.sh --KEY=VALUE ...

  --start-seconds=N        time to check the index and start before systemd gives up
  --stop-seconds=N         time to write the index and close regions before systemd kills
  --open-files=N           most file descriptors of a RegionServer
  --processes=N            its most threads

Where there is a cache, all of these; otherwise none:
  --cache-volume-gib=N     size of each cache volume, in whole GiB
  --cache-mib=N            "hbase.bucketcache.size" at launch: the size of all cache files together, in MiB
  --index-mib=N            expected size of that cache's persistence index, in MiB; room is kept for two
  --index-format=F         chunked (HBase 2.6.1 to 2.6.4) or streamed (2.6.5 and later)
  --cache-file=PATH        the path in "hbase.bucketcache.ioengine" at launch; several are separated by commas
  --index-file=PATH        "hbase.bucketcache.persistent.path" at launch
  --program=URL            before_regionserver.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX     its SHA-256

A cluster is tuned in place, but these arguments stay those of the launch. So the program reads hbase-site.xml before
each start of the RegionServer: the size and the paths there win, and it expects the index to grow with the cache.
USAGE
}

# check_path NAME PATH: each file needs a directory that will belong to hbase; the plain alphabet excludes systemd's % and
# quoting.
check_path() {
  if [[ ! $2 =~ ^/warmbase/cache(-[2-9]|-1[0-9])?(/[A-Za-z0-9_-][A-Za-z0-9._-]*){2,}$ ]]; then
    problems+=("--$1='$2': must be a file in a directory under /warmbase/cache")
  fi
}

# cache_files: prints the cache files, one a line.
cache_files() { echo "${argument[cache_file]//,/$'\n'}"; }

# cache_mounts: prints where the volumes of the cache files are mounted, one a line.
cache_mounts() { cache_files | cut -d / -f 1-3; }

cached() {
  local name
  for name in cache_volume_gib cache_mib index_mib index_format cache_file index_file program program_sha256; do
    if [[ -n ${argument[$name]} ]]; then return 0; fi
  done
  return 1
}

check_arguments() {
  check_number start-seconds 1 86400 seconds
  check_number stop-seconds 1 86400 seconds
  check_number open-files 65536 1048576 descriptors
  check_number processes 4096 4194304 processes
  if cached; then check_cache; fi
}

check_cache() {
  check_number cache-volume-gib 1 65536 GiB
  # 16,777,216 MiB is the largest size that HBase's float32 holds exactly.
  check_number cache-mib 1 16777216 MiB
  check_number index-mib 1 16777216 MiB
  local file
  while read -r file; do check_path cache-file "$file"; done < <(cache_files)
  check_path index-file "${argument[index_file]}"
  check_program program
  if [[ ! ${argument[index_format]} =~ ^(chunked|streamed)$ ]]; then
    problems+=("--index-format='${argument[index_format]}': must be chunked or streamed")
  fi
  if [[ ,${argument[cache_file]}, == *,"${argument[index_file]}",* ]]; then
    problems+=("--cache-file and --index-file are the same path")
  fi
  if ((${#problems[@]} == 0)); then check_room; fi
}

check_room() {
  local files volume_mib=$((argument[cache_volume_gib] * 1024))
  files=$(cache_files | wc -l)
  # The first volume holds an even share of the cache, and two copies of the index while HBase writes a new one.
  local needed_mib=$(((argument[cache_mib] + files - 1) / files + 2 * argument[index_mib]))
  if ((needed_mib > volume_mib)); then
    problems+=("--cache-mib$( ((files == 1)) || echo " / $files") + 2 x --index-mib is $needed_mib MiB, the volume $volume_mib MiB: plan a smaller cache")
  fi
}

drop_in() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file, then systemctl daemon-reload.
[Unit]
# Without its volumes a RegionServer would write to the root disk.
RequiresMountsFor=$(if cached; then cache_mounts | tr '\n' ' '; fi)/warmbase/system

[Service]
$(if cached; then before_start; fi)
# The check of the index, and the start itself.
TimeoutStartSec=${argument[start_seconds]}
# systemd's default of 90 s would kill a RegionServer that is still writing its index, and so lose the cache. HBase's own
# limit, HBASE_STOP_TIMEOUT of hbase-env, is shorter and acts first.
TimeoutStopSec=${argument[stop_seconds]}
LimitNOFILE=${argument[open_files]}
LimitNPROC=${argument[processes]}
# When memory runs out, the kernel kills other processes first: a RegionServer would lose the index of its cache.
OOMScoreAdjust=-500
UNIT
}

before_start() {
  cat <<UNIT
# "+": as root, whatever User= says. Sizes and paths are those of the launch; different ones in hbase-site.xml win.
ExecStartPre=+/usr/bin/python3 -I $PROGRAMS/before_regionserver.py $(cache_mounts | sed 's/^/--volume=/' | tr '\n' ' ')--owner=hbase \\
  --cache-file=${argument[cache_file]} --cache-mib=${argument[cache_mib]} \\
  --index-file=${argument[index_file]} --index-mib=${argument[index_mib]} --index-format=${argument[index_format]}
UNIT
}

main() {
  begin "$@"
  if primary_node; then
    end "this is a primary node: no RegionServer runs here, so there is nothing to do"
    exit 0
  fi
  # Files in this directory switch the guards off.
  mkdir -p /etc/warmbase
  if cached; then put_program program before_regionserver.py; fi
  put_file "$DROP_IN" 644 "$(drop_in)"
  reload_systemd
  end "done"
}

main "$@"
