"""Commands that install a package, by Linux distribution."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path

from tui.model.bounded import MOST_SMALL_BYTES, read_text

# words of PRETTY_NAME in /etc/os-release, by what installs packages there
NAMES: Mapping[str, tuple[str, ...]] = {
    "apt-get install": ("Debian", "Ubuntu", "Mint"),
    "dnf install": ("Red Hat", "Rocky", "Alma", "CentOS", "Oracle", "Fedora", "Amazon Linux"),
    "zypper install": ("SUSE",),
    "apk add": ("Alpine",),
}
# packages with another name in some distributions
OTHER_NAMES: Mapping[tuple[str, str], str] = {
    ("openmpi", "apt-get install"): "openmpi-bin",
    ("openmpi", "zypper install"): "openmpi4",
    ("slurm", "apt-get install"): "slurm-client",
    ("docker", "apt-get install"): "docker.io",
    ("kubernetes-client", "apk add"): "kubectl",
}
# programs of this machine, by the package that has them
PACKAGES: Mapping[str, str] = {
    **dict.fromkeys(("srun", "squeue", "scontrol", "sinfo", "salloc", "scancel"), "slurm"),
    "kubectl": "kubernetes-client",
    "podman": "podman",
    "docker": "docker",
    "nsenter": "util-linux",
}
# packages that the distribution does not have
ABSENT = (
    ("kubernetes-client", "Ubuntu"),
    ("kubernetes-client", "Mint"),
    *(("docker", name) for name in NAMES["dnf install"]),
)
OS_RELEASE = Path("/etc/os-release")


def install_command(os: str, package: str) -> str:
    """Return the command that installs a package; empty if the distribution is unknown, or does not
    have the package.
    """
    if any(package == name and word in os for name, word in ABSENT):
        return ""
    found = (how for how, names in NAMES.items() if any(name in os for name in names))
    how = next(found, "")
    return f"{how} {OTHER_NAMES.get((package, how), package)}" if how and package else ""


def not_installed(program: str, os: str | None = None) -> str:
    """Return the message that a program is missing on this machine, with the command to install it,
    if known.

    `os`: name of the distribution; default: this machine's.
    """
    name = this_os() if os is None else os
    command = install_command(name, PACKAGES.get(posixpath.basename(program), ""))
    return f"{program} is not installed" + (f"; {command}" if command else "")


def this_os() -> str:
    """Return the name of this machine's distribution; empty if unknown."""
    try:
        lines = read_text(OS_RELEASE, MOST_SMALL_BYTES).splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    found = (line.partition("=")[2] for line in lines if line.startswith("PRETTY_NAME="))
    return next(found, "").strip("\"'")
