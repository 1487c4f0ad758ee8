#!/usr/bin/env bash
# EMR bootstrap action, on every node except the primaries: mounts separate volumes for the system and for cached or HDFS data.
#
# A node has cache volumes of one size, or volumes of HDFS blocks, or neither. EMR mounts the volumes before this action
# runs, in an undocumented order, so the action tells them apart by size. `--help` lists the arguments. It leaves on the node
#   /warmbase/cache (and /warmbase/cache-2 and so on), /warmbase/system, /warmbase/data/1 and so on
#                bind mounts of a directory on each volume: the only paths in the configuration
#   /etc/fstab   the volumes with noatime, the bind mounts
#   /etc/systemd/system/hadoop-hdfs-datanode.service.d/10-warmbase.conf
ACTION=mount-volumes
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=bootstrap-actions/disks.sh
source "$(dirname "${BASH_SOURCE[0]}")/disks.sh"
# shellcheck source=bootstrap-actions/mounts.sh
source "$(dirname "${BASH_SOURCE[0]}")/mounts.sh"

readonly DROP_IN=/etc/systemd/system/hadoop-hdfs-datanode.service.d/10-warmbase.conf
readonly MOST_VOLUMES=24

argument=([cache_volume_gib]='' [cache_volumes]='1' [system_volume_gib]='' [data_volume_gib]='' [data_volumes]='')

usage() {
  cat <<USAGE
mount-volumes.sh --system-volume-gib=N [--cache-volume-gib=N [--cache-volumes=N]]
  [--data-volume-gib=N --data-volumes=N]

  --system-volume-gib=N   size of the disk for YARN, logs and write-ahead logs in HDFS, in whole GiB
  --cache-volume-gib=N    size of each disk for the cache, where there is one
  --cache-volumes=N       number of those disks, 1 if not given
  --data-volume-gib=N     size of each disk for HDFS blocks, where the data is in HDFS
  --data-volumes=N        number of those disks
USAGE
}

check_arguments() {
  # 65,536 GiB is the largest gp3 volume.
  check_number system-volume-gib 1 65536 GiB
  if [[ -n ${argument[cache_volume_gib]} ]]; then check_number cache-volume-gib 1 65536 GiB; fi
  check_number cache-volumes 1 "$MOST_VOLUMES" disks
  if [[ -n ${argument[data_volume_gib]}${argument[data_volumes]} ]]; then
    check_number data-volume-gib 1 65536 GiB
    check_number data-volumes 1 "$MOST_VOLUMES" disks
  fi
  local name other
  for name in cache data; do
    for other in system data; do
      check_sizes_differ "$name" "$other"
    done
  done
}

# check_sizes_differ NAME NAME: adds a problem if two kinds of volume have one size, for only size tells them apart.
check_sizes_differ() {
  local size=${argument[$1_volume_gib]}
  if [[ $1 != "$2" && -n $size && $size == "${argument[$2_volume_gib]}" ]]; then
    problems+=("--$1-volume-gib and --$2-volume-gib are equal, but size tells them apart: change one by 1 GiB")
  fi
}

# free_number NUMBER...: prints the first number that is not among them.
free_number() {
  local number=1
  while grep -qx "$number" < <(printf '%s\n' "$@"); do number=$((number + 1)); done
  echo "$number"
}

# path_of KIND NUMBER: prints the path of that volume below /warmbase: cache, cache-2 and so on, or data/1 and so on.
path_of() {
  if [[ $1 == data ]]; then echo "data/$2"; elif (($2 == 1)); then echo "$1"; else echo "$1-$2"; fi
}

# name_of KIND NUMBER: prints the name of that volume: its path without slashes.
name_of() { path_of "$@" | tr / -; }

# numbered_volumes KIND DISK...: mounts each disk under the first free name in /warmbase/volumes, and prints the mount
# points, one a line.
numbered_volumes() {
  local disk number
  for disk in "${@:2}"; do
    number=1
    while mountpoint --quiet "/warmbase/volumes/$(name_of "$1" "$number")"; do number=$((number + 1)); done
    mounted_volume "$(name_of "$1" "$number")" "$disk"
  done
}

# bind_numbered KIND MODE VOLUME...: binds each volume under the number that it already has, or else the first free one.
bind_numbered() {
  local volume number
  local -A numbers=()
  for volume in "${@:3}"; do
    for ((number = 1; number <= MOST_VOLUMES; number++)); do
      if [[ -d $volume/warmbase-$(name_of "$1" "$number") ]]; then numbers[$volume]=$number; fi
    done
  done
  for volume in "${@:3}"; do
    if [[ -z ${numbers[$volume]:-} ]]; then numbers[$volume]=$(free_number "${numbers[@]}"); fi
    bind "$(path_of "$1" "${numbers[$volume]}")" "$volume" "$2"
  done
}

# drop_in: makes the DataNode wait for its volumes; without them it would fill the root disk.
drop_in() {
  local number
  echo "# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file, then systemctl daemon-reload."
  echo "[Unit]"
  echo "RequiresMountsFor=/warmbase/system"
  for ((number = 1; number <= ${argument[data_volumes]:-0}; number++)); do
    echo "RequiresMountsFor=/warmbase/data/$number"
  done
}

main() {
  begin "$@"
  if primary_node; then
    end "this is a primary node: it has none of these volumes, so there is nothing to do"
    exit 0
  fi
  local cache=() system paths data=()
  # Find all before changing any.
  if [[ -n ${argument[cache_volume_gib]} ]]; then
    paths=$(disks_of_size "${argument[cache_volume_gib]}" "${argument[cache_volumes]}")
    mapfile -t cache <<<"$paths"
  fi
  system=$(disks_of_size "${argument[system_volume_gib]}" 1)
  if [[ -n ${argument[data_volumes]} ]]; then
    paths=$(disks_of_size "${argument[data_volume_gib]}" "${argument[data_volumes]}")
    mapfile -t data <<<"$paths"
  fi
  if ((${#cache[@]} > 0)); then
    paths=$(numbered_volumes cache "${cache[@]}")
    mapfile -t cache <<<"$paths"
  fi
  system=$(mounted_volume system "$system")
  if ((${#data[@]} > 0)); then
    paths=$(numbered_volumes data "${data[@]}")
    mapfile -t data <<<"$paths"
  fi
  if ((${#cache[@]} > 0)); then bind_numbered cache 755 "${cache[@]}"; fi
  # The users hdfs and yarn do not exist yet; they will make their own directories.
  bind system "$system" 1777
  if ((${#data[@]} > 0)); then bind_numbered data 1777 "${data[@]}"; fi
  put_file "$DROP_IN" 644 "$(drop_in)"
  reload_systemd
  end "done"
}

main "$@"
