# shellcheck shell=bash
# Finds the disks of a node by their size, and says what is on them; changes nothing. Like shared.sh, put in the place of the
# line that sources it.

# carries_root DISK: whether `/` is on it. The root disk has a size too, and is never a data volume.
carries_root() {
  local root
  root=$(findmnt --noheadings --raw --output MAJ:MIN --mountpoint /)
  lsblk --noheadings --raw --output MAJ:MIN "$1" | grep -qxF "$root"
}

# disks_of_size GIB COUNT: the disks of exactly so many GiB, one a line, or else those that have so many whole GiB: an instance
# store is not whole, and must not pass for a volume that is. They must be so many, no more and no less.
disks_of_size() {
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
  if ((${#found[@]} != $2)); then
    die "${#found[@]} disks of $1 GiB, exactly $2 needed; seen: $(printf '%s; ' "${seen[@]}")" \
      "fix: give the instance group as many volumes of each size as planned, and those sizes to this script"
  fi
  printf '%s\n' "${found[@]}"
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
