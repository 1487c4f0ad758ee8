# shellcheck shell=bash
# Finds the disks of a node by their size, and inspects them; changes nothing. Like shared.sh, it replaces the line that
# sources it.

# carries_root DISK: succeeds if `/` is on it. The root disk has a size too, and is never a data volume.
carries_root() {
  local root
  root=$(findmnt --noheadings --raw --output MAJ:MIN --mountpoint /)
  lsblk --noheadings --raw --output MAJ:MIN "$1" | grep -qxF "$root"
}

# disks_of_size GIB COUNT: prints the disks of exactly that many GiB, one a line; if there are none, those with that many
# whole GiB. (An instance store is not a whole number of GiB, and must not pass for a volume that is.) There must be
# exactly COUNT of them.
disks_of_size() {
  local path type bytes all=() exact=() whole=() disks
  while read -r path type bytes; do
    if [[ $type != disk ]]; then continue; fi
    if carries_root "$path"; then
      all+=("$path (the root disk)")
      continue
    fi
    all+=("$path $((bytes >> 30)) GiB")
    if ((bytes == $1 << 30)); then exact+=("$path"); fi
    if ((bytes >> 30 == $1)); then whole+=("$path"); fi
  done < <(lsblk --bytes --nodeps --noheadings --raw --output PATH,TYPE,SIZE)
  if ((${#exact[@]} > 0)); then disks=("${exact[@]}"); else disks=("${whole[@]}"); fi
  if ((${#disks[@]} != $2)); then
    refuse "${#disks[@]} disks of $1 GiB, exactly $2 needed; this node has: $(printf '%s; ' "${all[@]}")" \
      "give the instance group as many volumes of each size as planned, and those sizes to this script"
  fi
  printf '%s\n' "${disks[@]}"
}

# device_on DISK: prints the largest leaf of its tree of block devices: the disk itself, a LUKS mapper on it, or a partition
# (EMR may cut a small /emr from the first data volume).
device_on() {
  lsblk --bytes --noheadings --raw --output KNAME,PATH,SIZE,PKNAME "$1" | awk '
    { path[$1] = $2; size[$1] = $3; parent[$4] }
    END {
      for (name in path) if (!(name in parent) && size[name] >= most) { most = size[name]; device = path[name] }
      print device
    }'
}

# mount_of DEVICE: prints where its root directory is mounted, or nothing; our own bind mounts show a subdirectory.
mount_of() {
  { findmnt --noheadings --raw --output TARGET,FSROOT --source "$1" || true; } | awk '$2 == "/" { print $1; exit }'
}

# blank DEVICE: succeeds only if there is no signature *and* the first MiB is zeros, as in a new volume. blkid alone is not
# enough: it exits with 2 both for "nothing found" and for some errors.
blank() {
  local status=0 written
  blkid -p "$1" >/dev/null || status=$?
  written=$(head -c 1048576 "$1" | tr -d '\0' | wc -c) || refuse "cannot read $1, so it was not changed" \
    "replace the volume: a blank one and one with data cannot be told apart"
  ((status == 2 && written == 0))
}

probed() { blkid -p -s "$2" -o value "$1"; }
