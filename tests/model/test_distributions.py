"""What installs a package, on a host and on this machine."""

from __future__ import annotations

import pytest

from tui.model.distributions import install_command, not_installed

DEBIAN = "Debian GNU/Linux 12 (bookworm)"
UBUNTU = "Ubuntu 24.04.1 LTS"
ROCKY = "Rocky Linux 9.4 (Blue Onyx)"
SUSE = "SUSE Linux Enterprise Server 15 SP5"
ALPINE = "Alpine Linux v3.20"


@pytest.mark.parametrize(
    ("os", "package", "command"),
    [
        (DEBIAN, "fio", "apt-get install fio"),
        (UBUNTU, "openmpi", "apt-get install openmpi-bin"),
        (ROCKY, "fio", "dnf install fio"),
        ("Red Hat Enterprise Linux 8.10 (Ootpa)", "mpich", "dnf install mpich"),
        (SUSE, "openmpi", "zypper install openmpi4"),
        (ALPINE, "fio", "apk add fio"),
        ("Plan 9", "fio", ""),
        (DEBIAN, "", ""),
    ],
)
def test_packages_are_installed_as_the_distribution_does(
    os: str, package: str, command: str
) -> None:
    assert install_command(os, package) == command


@pytest.mark.parametrize(
    ("program", "os", "command"),
    [
        ("squeue", DEBIAN, "apt-get install slurm-client"),
        ("srun", SUSE, "zypper install slurm"),
        ("kubectl", DEBIAN, "apt-get install kubernetes-client"),
        ("kubectl", UBUNTU, ""),
        ("kubectl", ALPINE, "apk add kubectl"),
        ("/usr/local/bin/podman", ROCKY, "dnf install podman"),
        ("docker", ROCKY, ""),
        ("my-own-tool", DEBIAN, ""),
    ],
)
def test_a_missing_program_is_named_with_the_package_that_has_it(
    program: str, os: str, command: str
) -> None:
    told = not_installed(program, os)
    assert told.startswith(f"{program} is not installed")
    assert told.endswith(f"; {command}" if command else "is not installed")
