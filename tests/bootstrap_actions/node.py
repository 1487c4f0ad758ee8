"""A node to run bootstrap actions on: this machine's files, overlaid, in a mount namespace of its own.

Scripts see their real paths (/etc/fstab, /warmbase) and real devices, and need no switch for tests. What
they write and mount ends with the namespace; only loop devices outlive it, and `close` detaches those.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

GIB = 1 << 30
INSTANCE = "/mnt/var/lib/info/instance.json"

# XFS as on EMR; ext4 where xfsprogs is missing, under the name that the script calls.
HAS_XFS = shutil.which("mkfs.xfs") is not None

HOLD = """
set -e
mount -t tmpfs tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount --rbind /dev "$0/root/dev"
mount --rbind /sys "$0/root/sys"
mount -t proc proc "$0/root/proc"
exec chroot "$0/root" sh -c 'echo ready; exec sleep 300'
"""

# Loop devices stand in for disks, and the machine's own disks stay out of sight.
LSBLK_OF_LOOPS = """#!/bin/sh
case "$*" in */dev/*) exec {lsblk} "$@" ;; esac
for device in {devices}; do {lsblk} "$@" "$device"; done | sed 's/ loop / disk /'
"""


# The AWS CLI, of which actions ask one thing: aws s3 cp --only-show-errors s3://uploads/NAME FILE
AWS_OF_UPLOADS = """#!/bin/sh
exec cp "/uploads/${4#s3://uploads/}" "$5"
"""


class Unavailable(Exception):
    """No node can be held on this machine; the message says what is missing."""


class Node:
    """One running node. Use `open_node`; call `close` whatever happens."""

    def __init__(self, directory: Path) -> None:
        """Start the namespace; raise Unavailable when this machine does not allow it."""
        if os.geteuid() != 0:
            raise Unavailable("needs root for mounts and loop devices")
        self.directory = directory
        self.devices: list[str] = []
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", HOLD, str(directory)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.holder.stdout is not None
        answer = self.holder.stdout.readline().strip()
        if answer != "ready":
            self.close()
            raise Unavailable(f"no mount namespace with an overlay: {answer}")
        self.root = Path(f"/proc/{self.holder.pid}/root")
        self.write("/etc/fstab", "# fstab of the node\n")
        self.write("/stubs/lsblk", "#!/bin/sh\n", mode=0o755)
        if not HAS_XFS:
            self.write("/stubs/mkfs.xfs", '#!/bin/sh\nexec mkfs.ext4 "$@"\n', mode=0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """What the command answers on the node, as root, with the stubs first on PATH."""
        enter = ["nsenter", f"--target={self.holder.pid}", "--mount", "--root"]
        path = "/stubs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        clean = ["env", "--chdir=/", "-i", f"PATH={path}"]
        return subprocess.run([*enter, *clean, *command], capture_output=True, text=True, timeout=60, check=False)

    def ask(self, *command: str) -> str:
        """The stdout of a command that must succeed."""
        answer = self.run(*command)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """Put a file on the node."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        file.chmod(mode)

    def read(self, path: str) -> str:
        """The text of a file on the node."""
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8")

    def upload(self, name: str, content: bytes) -> tuple[str, str]:
        """Put a program where actions fetch it: its URL and its SHA-256."""
        file = self.root / "uploads" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        self.write("/stubs/aws", AWS_OF_UPLOADS, mode=0o755)
        return f"s3://uploads/{name}", hashlib.sha256(content).hexdigest()

    def attach(self, size_gib: int, *, beyond_bytes: int = 0, formatted: bool = False) -> str:
        """A new disk of this size and so much more, blank unless formatted; raise Unavailable without loop devices."""
        backing = Path(tempfile.mkstemp(dir=self.directory.parent)[1])
        os.truncate(backing, size_gib * GIB + beyond_bytes)
        attached = subprocess.run(
            ["losetup", "--find", "--show", str(backing)], capture_output=True, text=True, check=False
        )
        if attached.returncode != 0:
            raise Unavailable(f"no loop device: {attached.stderr.strip()}")
        device = attached.stdout.strip()
        self.devices.append(device)
        if formatted:
            self.ask("mkfs.xfs", "-q", device)
        stub = LSBLK_OF_LOOPS.format(lsblk=shutil.which("lsblk"), devices=" ".join(self.devices))
        self.write("/stubs/lsblk", stub, mode=0o755)
        return device

    def close(self) -> None:
        """End the namespace and with it every mount, then give the loop devices back."""
        self.holder.kill()
        self.holder.communicate()
        for device in self.devices:
            subprocess.run(["losetup", "--detach", device], check=False)
