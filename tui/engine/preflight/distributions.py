"""The command that installs a package on a host, by the name of its distribution."""

from __future__ import annotations

from collections.abc import Mapping

# words of PRETTY_NAME in /etc/os-release, by what installs packages there
NAMES: Mapping[str, tuple[str, ...]] = {
    "apt-get install": ("Debian", "Ubuntu", "Mint"),
    "dnf install": ("Red Hat", "Rocky", "Alma", "CentOS", "Oracle", "Fedora", "Amazon Linux"),
    "zypper install": ("SUSE",),
    "apk add": ("Alpine",),
}
# where the package is not called as elsewhere
OTHER_NAMES: Mapping[tuple[str, str], str] = {
    ("openmpi", "apt-get install"): "openmpi-bin",
    ("openmpi", "zypper install"): "openmpi4",
}


def install_command(os: str, package: str) -> str:
    """Return the command that installs a package; empty: not known for this distribution."""
    found = (how for how, names in NAMES.items() if any(name in os for name in names))
    how = next(found, "")
    return f"{how} {OTHER_NAMES.get((package, how), package)}" if how and package else ""
