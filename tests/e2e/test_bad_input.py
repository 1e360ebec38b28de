"""Every mistake and every unfit host ends in a clear line, the right exit code, and no load."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncssh
import pytest

from tests.e2e.command import benchtui, marked_processes, only_run
from tests.lab.sshd import SshdLab, refusing_port

pytestmark = pytest.mark.e2e

USAGE, REFUSED = 2, 3


class Attempt:
    """One try to run weka/read-iops on two lab hosts, changed a little by each test."""

    def __init__(self, lab: SshdLab, home: Path, target: Path) -> None:
        self.home = home
        self.hosts = "h[1-2]"
        self.profile = "weka/read-iops"
        self.ssh_config = lab.ssh_config
        self.settings = {"directory": str(target), "numjobs": "2", "size": "4m", "runtime": "5s"}

    def run(self) -> subprocess.CompletedProcess[str]:
        settings = [
            part for name, value in self.settings.items() for part in ("--set", f"{name}={value}")
        ]
        return benchtui(
            self.home,
            "run",
            self.profile,
            "--hosts",
            self.hosts,
            "--ssh-config",
            self.ssh_config,
            *settings,
        )

    def refused(self) -> str:
        """Run; the hosts must refuse; return what was said."""
        done = self.run()
        assert done.returncode == REFUSED, done.stderr
        record = json.loads((only_run(self.home) / "run.json").read_text())
        assert record["state"] == "failed"
        assert not marked_processes(record["run_id"])
        assert '"phase":"measure"' not in (only_run(self.home) / "journal.jsonl").read_text()
        return done.stderr

    def usage_error(self) -> str:
        """Run; nothing may start; return what was said."""
        done = self.run()
        assert done.returncode == USAGE, done.stderr
        assert "Traceback" not in done.stderr
        assert not (self.home / "runs").exists()
        return done.stderr


@pytest.fixture
def attempt(lab: SshdLab, home: Path, tmp_path: Path) -> Attempt:
    target = tmp_path / "target"
    target.mkdir()
    return Attempt(lab, home, target)


def changed_config(lab: SshdLab, tmp_path: Path, old: str, new: str) -> Path:
    path = tmp_path / "ssh_config"
    text = lab.ssh_config.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_unreachable_host_is_named(attempt: Attempt, lab: SshdLab, tmp_path: Path) -> None:
    port = lab.host("h2").port
    with refusing_port() as closed:
        attempt.ssh_config = changed_config(lab, tmp_path, f"Port {port}\n", f"Port {closed}\n")
        said = attempt.refused()
    assert "h2: " in said
    assert "refused" in said
    assert "h1: " not in said


def test_wrong_key_is_an_authentication_failure(
    attempt: Attempt, lab: SshdLab, tmp_path: Path
) -> None:
    key = tmp_path / "other_key"
    key.write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh"))
    key.chmod(0o600)
    attempt.ssh_config = changed_config(
        lab, tmp_path, f"IdentityFile {lab.client_key}", f"IdentityFile {key}"
    )
    said = attempt.refused()
    assert "h1: " in said
    assert "h2: " in said
    assert "permission denied" in said.lower()


def test_unknown_host_key_names_the_fingerprint_and_the_remedy(
    attempt: Attempt, lab: SshdLab
) -> None:
    attempt.ssh_config = lab.ssh_config_unknown
    said = attempt.refused()
    assert lab.host("h1").fingerprint in said
    assert "benchtui hosts trust h1" in said


def test_changed_host_key_is_refused(attempt: Attempt, lab: SshdLab, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    other = asyncssh.generate_private_key("ssh-ed25519")
    key = " ".join(other.export_public_key().decode().split()[:2])
    known.write_text("".join(f"[127.0.0.1]:{host.port} {key}\n" for host in lab.hosts))
    old = f"UserKnownHostsFile {lab.known_hosts}"
    attempt.ssh_config = changed_config(lab, tmp_path, old, f"UserKnownHostsFile {known}")
    said = attempt.refused()
    assert "changed" in said
    assert lab.host("h1").fingerprint in said
    assert other.get_fingerprint("sha256") in said


@contextmanager
def host_with_fio(replacement: Path, root: Path) -> Iterator[SshdLab]:
    """A host on which every fio is another file: its sshd has a mount namespace of its own."""
    covers = "".join(f"mount --bind {replacement} {path}; " for path in map(str, every_fio()))
    wrapper = ["unshare", "--mount", "sh", "-c", f'set -e; {covers}exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    with SshdLab(root, hosts=1, wrapper=wrapper) as lab:
        yield lab


def every_fio() -> set[Path]:
    folders = [
        Path(name)
        for name in ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin")
    ]
    return {(folder / "fio").resolve() for folder in folders if (folder / "fio").exists()}


def test_host_without_fio(attempt: Attempt, tmp_path: Path) -> None:
    with host_with_fio(Path("/dev/null"), tmp_path / "lab") as lab:
        attempt.hosts, attempt.ssh_config = "h1", lab.ssh_config
        assert "h1: fio is not on PATH; install fio 3.18 or newer" in attempt.refused()


def test_host_with_an_old_fio(attempt: Attempt, tmp_path: Path) -> None:
    old = tmp_path / "old-fio"
    old.write_text("#!/bin/sh\necho fio-3.7\n")
    old.chmod(0o755)
    with host_with_fio(old, tmp_path / "lab") as lab:
        attempt.hosts, attempt.ssh_config = "h1", lab.ssh_config
        said = attempt.refused()
    assert "fio-3.7" in said
    assert "too old; fio 3.18 or newer is required" in said


def test_missing_directory(attempt: Attempt, tmp_path: Path) -> None:
    attempt.settings["directory"] = str(tmp_path / "nowhere")
    said = attempt.refused()
    assert f"h1: {tmp_path / 'nowhere'} does not exist" in said
    assert f"h2: {tmp_path / 'nowhere'} does not exist" in said


def test_directory_that_takes_no_files(attempt: Attempt) -> None:
    attempt.settings["directory"] = "/sys/kernel"
    assert "h1: directory /sys/kernel is not writable" in attempt.refused()


def test_target_that_is_a_file(attempt: Attempt, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    attempt.settings["directory"] = str(tmp_path / "plain")
    assert "is not a directory" in attempt.refused()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    if (
        os.geteuid() != 0
        or subprocess.run(command, check=False, capture_output=True).returncode != 0
    ):
        pytest.skip("cannot mount a small file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_hosts_that_share_a_full_file_system(attempt: Attempt, small_disk: Path) -> None:
    # 2 hosts x 2 jobs x 5 MiB: each alone would fit
    attempt.settings.update(directory=str(small_disk), size="5m")
    said = attempt.refused()
    assert "21 MiB required" in said
    assert "has only 16 MiB" in said


def test_size_larger_than_the_disk(attempt: Attempt) -> None:
    attempt.settings["size"] = "512T"
    said = attempt.refused()
    assert "h1: " in said
    assert "choose a smaller size" in said


def test_unknown_profile_names_the_nearest(attempt: Attempt) -> None:
    attempt.profile = "weka/read-iop"
    assert "weka/read-iops" in attempt.usage_error()


def test_broken_yaml_names_file_line_and_column(attempt: Attempt, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("profile: test/broken\nfio: {global: {rw: read\n")
    attempt.profile = str(broken)
    assert f"{broken}:" in attempt.usage_error()


def test_unknown_parameter_names_the_nearest(attempt: Attempt) -> None:
    attempt.settings["runtimes"] = "5s"
    said = attempt.usage_error()
    assert "'runtimes'" in said
    assert "runtime" in said.replace("runtimes", "")


@pytest.mark.parametrize(
    ("name", "value"), [("runtime", "0"), ("runtime", "soon"), ("size", "4x"), ("numjobs", "0")]
)
def test_bad_value_names_the_parameter_and_what_was_found(
    attempt: Attempt, name: str, value: str
) -> None:
    attempt.settings[name] = value
    said = attempt.usage_error()
    assert name in said
    assert value in said


def test_unknown_host(attempt: Attempt) -> None:
    attempt.hosts = "no-such-host-here"
    assert "no-such-host-here" in attempt.usage_error()


def test_no_host_at_all(home: Path) -> None:
    done = benchtui(home, "run", "demo/quick")
    assert done.returncode == USAGE
    assert "no host chosen" in done.stderr
