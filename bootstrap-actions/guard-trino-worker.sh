#!/usr/bin/env bash
# EMR bootstrap action, on every node except the primaries: prepares what systemd does before and around each start of
# Trino.
#
# The trino user and the unit do not exist yet, so systemd runs later what needs them. `--help` lists the arguments.
# It leaves on the node
#   /usr/local/lib/warmbase/before_trino_worker.py
#   /etc/systemd/system/trino-server.service.d/10-warmbase.conf
ACTION=guard-trino-worker
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly DROP_IN=/etc/systemd/system/trino-server.service.d/10-warmbase.conf

argument=(
  [cache_gib]='' [cache_directories]='' [spill_directory]='' [catalog]='' [start_seconds]='' [open_files]=''
  [processes]='' [program]='' [program_sha256]=''
)

usage() {
  cat <<USAGE
guard-trino-worker.sh --KEY=VALUE ...

  --cache-directories=PATH  "fs.cache.directories" at launch; several are separated by commas
  --cache-gib=N             size of the cache in each of them at launch, in whole GiB
  --spill-directory=PATH    "spiller-spill-path"
  --catalog=NAME            the catalog whose files are cached, such as hive
  --start-seconds=N         time to count the pages of the cache and start before systemd gives up
  --open-files=N            most file descriptors of Trino
  --processes=N             its most threads
  --program=URL             before_trino_worker.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX      its SHA-256

A cluster is tuned in place, but these arguments stay those of the launch. So the program reads the catalog's file
before each start of Trino: the directories and the sizes there win.
USAGE
}

# cache_directories: prints the directories of the cache, one a line.
cache_directories() { echo "${argument[cache_directories]//,/$'\n'}"; }

check_arguments() {
  check_number cache-gib 1 65536 GiB
  check_number start-seconds 1 86400 seconds
  check_number open-files 65536 1048576 descriptors
  check_number processes 4096 4194304 processes
  check_program program
  local directory
  while read -r directory; do
    # The plain alphabet excludes systemd's % and quoting.
    if [[ ! $directory =~ ^/warmbase/cache(-[2-9]|-1[0-9])?/[A-Za-z0-9_-]+$ ]]; then
      problems+=("--cache-directories='$directory': must be a directory on a cache volume under /warmbase")
    fi
  done < <(cache_directories)
  if [[ ! ${argument[spill_directory]} =~ ^/warmbase/system/[A-Za-z0-9_-]+$ ]]; then
    problems+=("--spill-directory='${argument[spill_directory]}': must be a directory under /warmbase/system")
  fi
  if [[ ! ${argument[catalog]} =~ ^[a-z]+$ ]]; then
    problems+=("--catalog='${argument[catalog]}': must be a catalog's name in small letters")
  fi
}

drop_in() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file, then systemctl daemon-reload.
[Unit]
# Without its volumes a worker would write to the root disk.
RequiresMountsFor=$(cache_directories | cut -d / -f 1-3 | tr '\n' ' ')/warmbase/system

[Service]
# "+": as root, whatever User= says. Directories and size are those of the launch; different ones in the catalog's file win.
ExecStartPre=+/usr/bin/python3 -I $PROGRAMS/before_trino_worker.py --owner=trino \\
  --catalog=/etc/trino/conf/catalog/${argument[catalog]}.properties \\
  $(cache_directories | sed 's/^/--cache-directory=/' | tr '\n' ' ')--cache-gib=${argument[cache_gib]} \\
  --spill-directory=${argument[spill_directory]}
TimeoutStartSec=${argument[start_seconds]}
LimitNOFILE=${argument[open_files]}
LimitNPROC=${argument[processes]}
UNIT
}

main() {
  begin "$@"
  if primary_node; then
    end "this is a primary node: it has no cache volume, so there is nothing to do"
    exit 0
  fi
  put_program program before_trino_worker.py
  put_file "$DROP_IN" 644 "$(drop_in)"
  reload_systemd
  end "done"
}

main "$@"
