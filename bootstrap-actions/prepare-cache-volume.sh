#!/usr/bin/env bash
# EMR bootstrap action: gives the BucketCache a volume of its own on every node but the primaries.
#
# Runs as user hadoop (and goes on as root by sudo) after EMR has mounted the data volumes and before HBase is
# installed: there is no hbase user and no unit yet. So what needs them is left for systemd to run later, before each
# start of the RegionServer. `--help` lists the arguments; there is no other input, and running twice changes nothing.
#
# Leaves on the node
#   /warmbase/cache, /warmbase/system   bind mounts of a directory on each volume: the only paths configuration names
#   /etc/fstab                          both volumes with noatime, both bind mounts
#   /usr/local/lib/warmbase/before-regionserver
#   /etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf
#   /etc/security/limits.d/warmbase.conf
set -Eeuo pipefail
shopt -s inherit_errexit
trap 'say "failed at line $LINENO: $BASH_COMMAND"' ERR
umask 022

readonly INSTANCE=/mnt/var/lib/info/instance.json
readonly PROGRAM=/usr/local/lib/warmbase/before-regionserver
readonly DROP_IN=/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf
readonly LIMITS=/etc/security/limits.d/warmbase.conf

# judgement: a RegionServer has thousands of threads at most (handlers, prefetch, S3 connections); this leaves a
# factor of ten and still stops a leak before the node runs out of process ids.
readonly PROCESSES=65536

# Twice the 65,536 that HBase wants for store files, S3 connections and WAL streams; an unused descriptor costs nothing.
readonly OPEN_FILES=131072

# HBase's own stop script kills after HBASE_STOP_TIMEOUT, 1,200 s. One minute more lets that limit act first: systemd's
# default of 90 s would kill a RegionServer that is still writing its index, and so lose the cache.
readonly STOP_SECONDS=1260

declare -A argument=(
  [cache_volume_gib]='' [system_volume_gib]='' [cache_mib]='' [index_mib]='' [index_format]=''
  [cache_file]=/warmbase/cache/bucketcache/cache
  [index_file]=/warmbase/cache/persistence/index
  [stop_seconds]=$STOP_SECONDS
  [open_files]=$OPEN_FILES
)
declare -a problems=()

usage() {
  cat <<USAGE
prepare-cache-volume.sh --cache-volume-gib=N --system-volume-gib=N --cache-mib=N --index-mib=N --index-format=F [...]

  --cache-volume-gib=N    size by which the disk of the cache is known, in whole GiB
  --system-volume-gib=N   size by which the disk of HDFS, YARN and logs is known, in whole GiB
  --cache-mib=N           "hbase.bucketcache.size" at launch: what the cache files take together, in MiB
  --index-mib=N           expected size of that cache's persistence index, in MiB; room is kept for two
  --index-format=F        chunked (HBase 2.6.1 to 2.6.4) or streamed (2.6.5 and later, which guards itself)
  --cache-file=PATH       the path in "hbase.bucketcache.ioengine" at launch (${argument[cache_file]})
  --index-file=PATH       "hbase.bucketcache.persistent.path" at launch (${argument[index_file]})
  --stop-seconds=N        time to write the index and close regions before systemd kills (${argument[stop_seconds]})
  --open-files=N          file descriptors of a RegionServer (${argument[open_files]})

A cluster is tuned in place, but these arguments stay as they were at launch. So before each start of the RegionServer
its hbase-site.xml is read: the size and the paths there win, and the index is expected to grow with the cache.

example: prepare-cache-volume.sh --cache-volume-gib=1024 --system-volume-gib=128 \\
           --cache-mib=860160 --index-mib=1400 --index-format=chunked
USAGE
}

say() { printf 'prepare-cache-volume: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

# --- arguments: every problem at once, exit 2 ---

read_argument() {
  local name=${1%%=*} key
  key=${name#--} key=${key//-/_}
  # The pattern comes first: bash evaluates whatever stands in a subscript.
  if [[ ! $1 =~ ^--[a-z-]+= || ! -v argument[$key] ]]; then
    problems+=("$1: unknown argument; see --help")
  elif [[ -v given[$key] ]]; then
    problems+=("$name: given twice")
  else
    given[$key]=yes argument[$key]=${1#*=}
  fi
}

# check_number NAME LEAST MOST UNIT
check_number() {
  local value=${argument[${1//-/_}]}
  if [[ ! $value =~ ^[1-9][0-9]{0,11}$ ]] || ((value < $2 || value > $3)); then
    problems+=("--$1='$value': must be a whole number of $4 from $2 to $3")
  fi
}

# Each file needs a directory that will belong to hbase; the plain alphabet keeps systemd's % and quoting out.
check_path() {
  local value=${argument[${1//-/_}]}
  if [[ ! $value =~ ^/warmbase/cache(/[A-Za-z0-9_-][A-Za-z0-9._-]*){2,}$ ]]; then
    problems+=("--$1='$value': must be a file in a directory under /warmbase/cache")
  fi
}

check_numbers() {
  # 65,536 GiB is the largest gp3 volume; 16,777,216 MiB the largest size that HBase's float32 holds exactly.
  check_number cache-volume-gib 1 65536 GiB
  check_number system-volume-gib 1 65536 GiB
  check_number cache-mib 1 16777216 MiB
  check_number index-mib 1 16777216 MiB
  check_number stop-seconds 1 86400 seconds
  # Below, HBase runs out; above, the kernel's default fs.nr_open makes the unit fail to start.
  check_number open-files 65536 1048576 descriptors
}

check_sizes() {
  local volume_mib=$((argument[cache_volume_gib] * 1024))
  local needed_mib=$((argument[cache_mib] + 2 * argument[index_mib]))
  if [[ ${argument[cache_volume_gib]} == "${argument[system_volume_gib]}" ]]; then
    problems+=("--cache-volume-gib and --system-volume-gib are equal, but size tells them apart: change one by 1 GiB")
  fi
  if ((needed_mib > volume_mib)); then
    problems+=("--cache-mib + 2 x --index-mib is $needed_mib MiB, the volume $volume_mib MiB: plan a smaller cache")
  fi
}

read_arguments() {
  local -A given=()
  local word
  for word in "$@"; do
    if [[ $word == --help ]]; then
      usage
      exit 0
    fi
    read_argument "$word"
  done
  check_numbers
  check_path cache-file
  check_path index-file
  if [[ ! ${argument[index_format]} =~ ^(chunked|streamed)$ ]]; then
    problems+=("--index-format='${argument[index_format]}': must be chunked or streamed")
  fi
  if [[ ${argument[cache_file]} == "${argument[index_file]}" ]]; then
    problems+=("--cache-file and --index-file are the same path")
  fi
  if ((${#problems[@]} == 0)); then check_sizes; fi
  if ((${#problems[@]} > 0)); then
    for word in "${problems[@]}"; do say "$word"; done
    exit 2
  fi
}

# --- files: written whole, and only when they differ ---

# put_file PATH MODE CONTENT
put_file() {
  if [[ -f $1 && $(<"$1") == "$3" && $(stat -c %a "$1") == "$2" ]]; then
    say "$1 is as it should be"
    return
  fi
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$3" >"$1.new"
  chmod "$2" "$1.new"
  mv "$1.new" "$1"
  say "wrote $1"
}

# --- volumes ---

primary_node() {
  [[ -r $INSTANCE ]] || die "$INSTANCE is not there: cannot tell a primary from a core node, so no disk is touched"
  grep -Eq '"isMaster"[[:space:]]*:[[:space:]]*true' "$INSTANCE"
}

# carries_root DISK: whether `/` is on it. The root disk has a size too, and is never a data volume.
carries_root() {
  local root
  root=$(findmnt --noheadings --raw --output MAJ:MIN --mountpoint /)
  lsblk --noheadings --raw --output MAJ:MIN "$1" | grep -qxF "$root"
}

# disk_of_size GIB: the one disk of exactly so many GiB, or else the one that has so many whole GiB: an instance store is
# not whole, and must not pass for a volume that is.
disk_of_size() {
  local path type bytes seen=() exact=() whole=() found
  while read -r path type bytes; do
    if [[ $type != disk ]]; then continue; fi
    if carries_root "$path"; then
      seen+=("$path (the root disk)")
      continue
    fi
    seen+=("$path $((bytes >> 30)) GiB")
    if ((bytes == $1 << 30)); then exact+=("$path"); fi
    if ((bytes >> 30 == $1)); then whole+=("$path"); fi
  done < <(lsblk --bytes --nodeps --noheadings --raw --output PATH,TYPE,SIZE)
  if ((${#exact[@]} > 0)); then found=("${exact[@]}"); else found=("${whole[@]}"); fi
  if ((${#found[@]} != 1)); then
    die "${#found[@]} disks of $1 GiB, exactly one is needed; seen: $(printf '%s; ' "${seen[@]}")" \
      "fix: give the instance group one volume of each size, and those sizes to this script"
  fi
  echo "${found[0]}"
}

# device_on DISK: the largest block device at the end of its tree: the disk itself, a LUKS mapper on it, or a partition
# (EMR may cut a small /emr from the first data volume).
device_on() {
  lsblk --bytes --noheadings --raw --output KNAME,PATH,SIZE,PKNAME "$1" | awk '
    { path[$1] = $2; size[$1] = $3; parent[$4] }
    END {
      for (name in path) if (!(name in parent) && size[name] >= most) { most = size[name]; device = path[name] }
      print device
    }'
}

# mount_of DEVICE: where its root directory is mounted, or nothing; our own bind mounts show a subdirectory.
mount_of() {
  { findmnt --noheadings --raw --output TARGET,FSROOT --source "$1" || true; } | awk '$2 == "/" { print $1; exit }'
}

# blank DEVICE: true only when no signature is found *and* the first MiB is zeros, as in a new volume. blkid alone will
# not do: it exits with 2 for "nothing found" and for some errors alike.
blank() {
  local status=0 written
  blkid -p "$1" >/dev/null || status=$?
  written=$(head -c 1048576 "$1" | tr -d '\0' | wc -c) || die "cannot read $1, so it is left as it is"
  ((status == 2 && written == 0))
}

probed() { blkid -p -s "$2" -o value "$1"; }

# mount_device DEVICE TARGET: formats a blank device; whatever else is not a filesystem is refused.
mount_device() {
  if blank "$1"; then
    say "$1 is blank: formatting it with xfs"
    mkfs.xfs -q "$1" # without -f it refuses by itself to overwrite a signature
  elif [[ $(probed "$1" USAGE || true) != filesystem ]]; then
    die "$1 is neither blank nor a filesystem (found: $(probed "$1" TYPE || echo unknown data));" \
      "it is left as it is. fix: unlock or empty it by hand"
  fi
  say "mounting $1 at $2"
  mkdir -p "$2"
  mount -o noatime "$1" "$2"
}

# volume_in_fstab DEVICE TARGET: an existing line keeps its options and gains noatime; nofail lets a node boot without
# the volume, so that it can still be reached and asked why.
volume_in_fstab() {
  local line content
  line="UUID=$(probed "$1" UUID) $2 $(probed "$1" TYPE) defaults,noatime,nofail 0 2"
  content=$(awk -v target="$2" -v line="$line" '
    $1 !~ /^#/ && $2 == target {
      present = 1
      if ("," $4 "," !~ /,noatime,/ && !gsub(/(rel|strict)atime/, "noatime", $4)) $4 = $4 ",noatime"
    }
    { print }
    END { if (!present) print line }' /etc/fstab)
  put_file /etc/fstab 644 "$content"
}

# mounted_volume NAME DISK: where the volume is mounted, after it has been made so.
mounted_volume() {
  local device target
  device=$(device_on "$2")
  target=$(mount_of "$device")
  if [[ -z $target ]]; then
    target=/warmbase/volumes/$1
    mount_device "$device" "$target"
  fi
  say "$1 volume: disk $2, device $device, mounted at $target"
  # Nobody asks when the cache was last read; writing that down costs the volume's own operations.
  if [[ ,$(findmnt --noheadings --raw --output OPTIONS --mountpoint "$target"), != *,noatime,* ]]; then
    mount -o remount,noatime "$target"
    say "remounted $target with noatime"
  fi
  volume_in_fstab "$device" "$target"
  echo "$target"
}

# bind_in_fstab TARGET LINE: that line and no other for the target, in its old place.
bind_in_fstab() {
  local content
  content=$(awk -v target="$1" -v line="$2" '
    $1 !~ /^#/ && $2 == target { if (!present) print line; present = 1; next }
    { print }
    END { if (!present) print line }' /etc/fstab)
  put_file /etc/fstab 644 "$content"
}

# bind NAME VOLUME MODE: shows VOLUME/warmbase-NAME at /warmbase/NAME, now and after a reboot.
bind() {
  local source=$2/warmbase-$1 target=/warmbase/$1
  local line="$source $target none bind,nofail,x-systemd.requires-mounts-for=$2 0 0"
  [[ -d $source ]] || mkdir "$source"
  chmod "$3" "$source"
  mkdir -p "$target"
  if [[ $source -ef $target ]]; then
    say "$target is already $source"
  elif mountpoint --quiet "$target"; then
    die "something else is mounted at $target: $(findmnt --noheadings --output SOURCE --mountpoint "$target")." \
      "fix: umount $target"
  else
    mount --bind "$source" "$target"
    say "bound $source at $target"
  fi
  bind_in_fstab "$target" "$line"
}

# --- what systemd runs later ---

drop_in() {
  cat <<UNIT
# Installed by warmbase's bootstrap action prepare-cache-volume.sh.
[Unit]
# Without its volume a RegionServer would make its cache file on the root disk.
RequiresMountsFor=/warmbase/cache /warmbase/system

[Service]
# "+": as root, whatever User= says. It takes well under a second, so TimeoutStartSec= stays EMR's.
# Sizes and paths are those of the launch; where hbase-site.xml has others, those count.
ExecStartPre=+$PROGRAM --volume=/warmbase/cache --owner=hbase \\
  --cache-file=${argument[cache_file]} --cache-mib=${argument[cache_mib]} \\
  --index-file=${argument[index_file]} --index-mib=${argument[index_mib]} --index-format=${argument[index_format]}
TimeoutStopSec=${argument[stop_seconds]}
LimitNOFILE=${argument[open_files]}
LimitNPROC=$PROCESSES
UNIT
}

# A start script that goes through su or runuser takes its limits from here, not from the unit. The last file by name
# wins, and packages name theirs hbase.conf.
limits() {
  cat <<LIMITS
# Installed by warmbase's bootstrap action prepare-cache-volume.sh.
hbase - nofile ${argument[open_files]}
hbase - nproc $PROCESSES
LIMITS
}

before_regionserver() {
  cat <<'PYTHON'
#!/usr/bin/python3 -I
"""Run by systemd as root before each start of the RegionServer; installed by prepare-cache-volume.sh.

Makes the directories of the cache file and of the persistence index, removes what a crash left behind, moves aside an
index that would stop HBase 2.6.1 to 2.6.4, and refuses the start when the volume cannot hold the cache.

Sizes and paths come from the node's hbase-site.xml, because a cluster is tuned in place; the arguments are those of the
launch and serve only where that file does not help, which is then told. Python 3.9.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import struct
import sys
import time
from pathlib import Path
from typing import BinaryIO, Callable, NamedTuple, TypeVar
from xml.etree import ElementTree

Value = TypeVar("Value")

MIB = 1 << 20
HBASE_SITE = Path("/etc/hbase/conf/hbase-site.xml")
SKIP_INDEX_GUARD = Path("/etc/warmbase/skip-index-guard")
SKIP_ROOM_CHECK = Path("/etc/warmbase/skip-room-check")

# 256 TiB: the BucketCache keeps an offset in 40 bits of 256 bytes each.
MOST_CACHE_MIB = 1 << 28

# HBase 2.6.1 to 2.6.4, BucketProtoUtils.serializeAsPB: magic, then big-endian blocks per chunk and number of chunks.
HEADER = struct.Struct(">4sqq")
CHUNKED_MAGIC = b"V2UF"
UNCHUNKED_MAGIC = b"PBUF"  # 2.6.0 and before; later releases read it too
# protobuf writes a message's length, an int32, in at most 5 bytes of 7 bits each.
LENGTH_BYTES = 5

# judgement: one damaged index to study and one to compare; at 1.3 GiB per TiB of cache more would fill the volume.
DAMAGED_KEPT = 2


class Refused(Exception):
    """The RegionServer must not start; the message says why and how to mend it."""


def say(message: str) -> None:
    """A line in the journal of the unit."""
    sys.stderr.write(f"before-regionserver: {message}\n")


class BucketCache(NamedTuple):
    """The cache that HBase is about to open; its size is split evenly over its files."""

    size_mib: float
    files: list[Path]
    index_file: Path


def read_size(text: str) -> float:
    """A size that HBase takes, in MiB."""
    size_mib = float(text)
    if not 1 <= size_mib <= MOST_CACHE_MIB:
        raise ValueError(f"{text!r} is not a number of MiB from 1 to {MOST_CACHE_MIB}")
    return size_mib


def read_path(text: str) -> Path:
    """Where it really lies, with dots and symbolic links followed."""
    if not text.startswith("/") or "${" in text:  # Hadoop would put another property in the place of ${...}
        raise ValueError(f"{text!r} is not a full path")
    return Path(text).resolve()


def read_ioengine(text: str) -> list[Path]:
    """The cache files as HBase finds them: file: and files: mean the same, only commas separate."""
    engine, _, paths = text.partition(":")
    if engine not in ("file", "files"):
        raise ValueError(f"{text!r} is neither file:PATH nor files:PATH,PATH")
    return [read_path(path) for path in paths.rstrip(",").split(",")]


def properties(site: Path) -> dict[str, str]:
    """What hbase-site.xml says; the last of a name counts, as in Hadoop. An external entity is an error, never read."""
    return {
        item.findtext("name", "").strip(): item.findtext("value", "")
        for item in ElementTree.parse(site).iter("property")
    }


def bucket_cache(given: argparse.Namespace) -> BucketCache | None:
    """What hbase-site.xml says, and what the launch said where that is of no use; None when the cache is off."""
    launched = {
        "hbase.bucketcache.size": str(given.cache_mib),
        "hbase.bucketcache.ioengine": f"file:{given.cache_file}",
        "hbase.bucketcache.persistent.path": str(given.index_file),
    }
    try:
        found = properties(given.hbase_site)
    except (OSError, ElementTree.ParseError, ValueError, LookupError) as fault:
        say(f"{given.hbase_site} cannot be read: {fault}. Going by the launch: {launched}")
        found = launched
    if found.get("hbase.bucketcache.ioengine", "") in ("", "offheap"):
        return None

    def current(name: str, read: Callable[[str], Value]) -> Value:
        try:
            return read(found[name])
        except KeyError:
            why = "is missing"
        except ValueError as fault:
            why = f"is of no use: {fault}"
        say(f"'{name}' in {given.hbase_site} {why}. Going by the launch: {launched[name]}")
        return read(launched[name])

    return BucketCache(
        size_mib=current("hbase.bucketcache.size", read_size),
        files=current("hbase.bucketcache.ioengine", read_ioengine),
        index_file=current("hbase.bucketcache.persistent.path", read_path),
    )


def message_end(file: BinaryIO, start: int) -> int | None:
    """Where the length-delimited message at start ends; None when its length is cut off or none HBase writes."""
    file.seek(start)
    length = 0
    for position, byte in enumerate(file.read(LENGTH_BYTES)):
        length |= (byte & 0x7F) << (7 * position)
        if not byte & 0x80:  # the last byte of a length has its top bit clear
            # Every chunk holds a block at least, so an empty message is a hole in the file.
            return start + position + 1 + length if length else None
    return None


def index_damage(index: Path) -> str:
    """Why HBase 2.6.1 to 2.6.4 could not restore from this index; empty when it can.

    Reads a few bytes per chunk and seeks over the rest. HBase reads the first chunk whatever is announced, then as many
    as are announced. Whole chunks beyond those are normal: they appear when the cache grows during the dump, and HBase
    ignores them.
    """
    size = index.stat().st_size
    if size <= HEADER.size:
        return f"{size} bytes: there is no chunk behind the {HEADER.size}-byte header"
    with index.open("rb", buffering=0) as file:
        magic, _, announced = HEADER.unpack(file.read(HEADER.size))
        if magic == UNCHUNKED_MAGIC:
            return ""
        if magic != CHUNKED_MAGIC:
            return f"begins with {magic!r}, not {CHUNKED_MAGIC!r}"
        chunks, position = 0, HEADER.size
        while position < size:
            end = message_end(file, position)
            if end is None or end > size:
                return f"chunk {chunks + 1} of {announced}, at byte {position} of {size}, is cut off or not a chunk"
            chunks, position = chunks + 1, end
    return "" if 0 <= announced <= chunks else f"{chunks} chunks, {announced} announced"


def beside(file: Path, suffix: str) -> list[Path]:
    """The files named like this one plus a suffix, oldest first (every suffix ends in a time)."""
    name = re.compile(re.escape(file.name) + suffix)
    return sorted(path for path in file.parent.iterdir() if name.fullmatch(path.name))


def damaged_copies(index: Path) -> list[Path]:
    """What earlier starts have moved aside, oldest first."""
    return beside(index, r"\.damaged-\d+")


def guard_index(index: Path, index_format: str) -> None:
    """Remove what a crash left of a dump; move a damaged index aside; keep the last copies only."""
    for unfinished in beside(index, r"\d{13}"):  # HBase dumps into <path><milliseconds> and renames
        unfinished.unlink()
        say(f"removed {unfinished}: a dump that a crash has cut short")
    damage = index_damage(index) if index_format == "chunked" and index.exists() else ""
    if damage:
        aside = index.with_name(f"{index.name}.damaged-{int(time.time())}")
        index.rename(aside)
        say(f"moved {index} to {aside}: {damage}. HBase 2.6.1 to 2.6.4 may not start from it; the cache starts empty")
        say(f"if the index was good after all: touch {SKIP_INDEX_GUARD}, stop HBase here, rename it back, start")
    for old in damaged_copies(index)[:-DAMAGED_KEPT]:
        old.unlink()
        say(f"removed {old}: the last {DAMAGED_KEPT} are enough")


def occupied_bytes(file: Path) -> int:
    """What a file really takes on its volume; HBase's cache file is sparse."""
    return file.stat().st_blocks * 512 if file.exists() else 0


def room(cache: BucketCache, given: argparse.Namespace) -> dict[Path, int]:
    """The bytes that each file on the volume may come to take; files elsewhere are told and left out.

    The index grows with the cache, and is written beside its predecessor.
    """
    index_mib = math.ceil(given.index_mib * cache.size_mib / given.cache_mib)
    share_bytes = math.ceil(cache.size_mib * MIB / len(cache.files))
    wanted = {**dict.fromkeys(cache.files, share_bytes), cache.index_file: 2 * index_mib * MIB}
    for file in [file for file in wanted if given.volume not in file.parents]:
        say(
            f"{file} is not under {given.volume}: neither its directory nor its room is seen to, and its disk may be"
            f" HDFS's or the node's own. fix: name a path under {given.volume} in hbase-site.xml"
        )
        del wanted[file]
    return wanted


def check_room(volume: Path, wanted: dict[Path, int]) -> None:
    """Raise Refused unless free space and what our own files already take suffice; damaged copies give way."""
    needed_bytes = sum(wanted.values())
    while True:
        free_bytes = shutil.disk_usage(volume).free
        ours_bytes = sum(map(occupied_bytes, wanted))
        if free_bytes + ours_bytes >= needed_bytes:
            return
        copies = [copy for file in wanted for copy in damaged_copies(file)]
        if not copies:
            break
        copies[0].unlink()
        say(f"removed {copies[0]} to make room for the cache")
    parts = ", ".join(f"{file} {size // MIB} MiB" for file, size in wanted.items())
    raise Refused(
        f"{volume} has no room for the BucketCache\n"
        f"  {needed_bytes // MIB} MiB needed; {free_bytes // MIB} MiB free and {ours_bytes // MIB} MiB already ours,\n"
        f"  because these may come to take: {parts} (an index is written beside its predecessor),\n"
        f"  and a cache that runs out of disk switches itself off after a minute of errors\n"
        f"  fix: remove what else lies on the volume, such as the files of former paths, or make\n"
        f"  'hbase.bucketcache.size' smaller, or start anyway: touch {SKIP_ROOM_CHECK}"
    )


def make_directory(directory: Path, owner: str) -> None:
    """Make it, if need be, for the RegionServer alone."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.chown(directory, owner, owner)
    directory.chmod(0o750)


def guarded(name: str, switch: Path, guard: Callable[[], None]) -> None:
    """Run a guard unless it is switched off; a fault of the guard itself is told, and never stops the RegionServer."""
    if switch.exists():
        say(f"{name} skipped, because {switch} exists")
        return
    try:
        guard()
    except Refused:
        raise
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is ours and not the RegionServer's
        say(f"{name} failed itself: {fault!r}. Going on without it; to silence it: touch {switch}")


def arguments() -> argparse.Namespace:
    """As the unit's drop-in gives them."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--hbase-site", type=Path, default=HBASE_SITE)
    parser.add_argument("--volume", type=Path, required=True)
    parser.add_argument("--owner", required=True)
    parser.add_argument("--cache-file", type=Path, required=True)
    parser.add_argument("--cache-mib", type=int, required=True)
    parser.add_argument("--index-file", type=Path, required=True)
    parser.add_argument("--index-mib", type=int, required=True)
    parser.add_argument("--index-format", choices=["chunked", "streamed"], required=True)
    return parser.parse_args()


def prepare(given: argparse.Namespace) -> None:
    """Everything, in the order in which each step needs the one before."""
    cache = bucket_cache(given)
    if cache is None:
        say(f"the BucketCache uses no disk ('hbase.bucketcache.ioengine' in {given.hbase_site}): nothing to check")
        return
    if not os.path.ismount(given.volume):
        raise Refused(f"{given.volume} is not mounted; the cache would fill the root disk\n  fix: mount -a")
    wanted = room(cache, given)
    for file in wanted:
        make_directory(file.parent, given.owner)
    if cache.index_file in wanted:
        guarded("index guard", SKIP_INDEX_GUARD, lambda: guard_index(cache.index_file, given.index_format))
    guarded("room check", SKIP_ROOM_CHECK, lambda: check_room(given.volume, wanted))


def main() -> int:
    """Exit status for systemd: 0 lets the RegionServer start."""
    try:
        prepare(arguments())
    except (Refused, OSError, LookupError) as refusal:
        say(str(refusal))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
PYTHON
}

# --- the sentence ---

main() {
  read_arguments "$@"
  if ((EUID != 0)); then exec sudo -- bash "$0" "$@"; fi
  if primary_node; then
    say "this is a primary node: it has no cache volume, nothing to do"
    exit 0
  fi
  local cache system
  # Both are looked for before either is touched.
  cache=$(disk_of_size "${argument[cache_volume_gib]}")
  system=$(disk_of_size "${argument[system_volume_gib]}")
  cache=$(mounted_volume cache "$cache")
  system=$(mounted_volume system "$system")
  bind cache "$cache" 755
  bind system "$system" 1777 # users hdfs and yarn do not exist yet; they will make their own directories
  # Where the guards are switched off.
  mkdir -p /etc/warmbase
  put_file "$PROGRAM" 755 "$(before_regionserver)"
  put_file "$DROP_IN" 644 "$(drop_in)"
  put_file "$LIMITS" 644 "$(limits)"
  if [[ -d /run/systemd/system ]]; then
    systemctl daemon-reload
    say "systemd has read its units again"
  fi
  say "done"
}

main "$@"
