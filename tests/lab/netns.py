"""A lab of hosts that are told apart: network namespaces with addresses, hostnames and sshd of
their own.

Needs root and iproute2; the machine that runs the tests is the jump host. Nothing is left behind:
namespaces, links and sshd processes end with the lab, sshd by pid.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import asyncssh

from tests.lab.sshd import SSHD, set_env
from tests.patience import PATIENCE_S

PORT = 2222


def possible() -> bool:
    """Whether this machine lets us make network namespaces."""
    tools = all(shutil.which(tool) for tool in ("ip", "unshare", "hostname"))
    return tools and os.geteuid() == 0 and Path(SSHD).exists() and _works("ip", "netns", "list")


def _works(*argv: str) -> bool:
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


class NetnsLab:
    """`hosts` hosts h1..hN at `addresses`, reached through `ssh_config`; `unplug` and `plug` act on
    a host's link.

    With `shared` each host has a /tmp and a /dev/shm of its own, in which only that directory is
    the machine's, and an ssh_config by which it gets into the others.
    """

    def __init__(self, root: Path, hosts: int = 2, shared: Path | None = None) -> None:
        self.root, self.shared = root, shared
        self.tag = f"bt{os.getpid() % 100000}"
        self.net = f"10.{os.getpid() % 100 + 100}.{os.getpid() // 100 % 250}"
        self.names = [f"h{number}" for number in range(1, hosts + 1)]
        self.addresses = {
            name: f"{self.net}.{10 + number}" for number, name in enumerate(self.names, start=1)
        }
        self.network = f"{self.net}.0/24"
        self.ssh_config = root / "ssh_config"
        self._sshd: list[subprocess.Popen[bytes]] = []
        root.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> NetnsLab:
        try:
            self._make_links()
            self._start_hosts()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._sshd:
            process.terminate()
            process.wait(PATIENCE_S)
        for name in self.names:
            listing = ["ip", "netns", "pids", self._ns(name)]
            inside = subprocess.run(listing, capture_output=True, text=True, check=False)
            # sessions that lost their connection would hold the namespace
            for pid in inside.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", self._ns(name)], capture_output=True, check=False)
            subprocess.run(
                ["ip", "link", "del", self._link(name)], capture_output=True, check=False
            )
        subprocess.run(["ip", "link", "del", f"{self.tag}br"], capture_output=True, check=False)

    def unplug(self, name: str) -> None:
        """Take a host off the network without a word to anybody."""
        run("ip", "link", "set", self._link(name), "down")

    def plug(self, name: str) -> None:
        """Give it back."""
        run("ip", "link", "set", self._link(name), "up")

    def _ns(self, name: str) -> str:
        return f"{self.tag}-{name}"

    def _link(self, name: str) -> str:
        return f"{self.tag}{name}"

    def _make_links(self) -> None:
        bridge = f"{self.tag}br"
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.net}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for name in self.names:
            run("ip", "netns", "add", self._ns(name))
            run(
                "ip",
                "link",
                "add",
                self._link(name),
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                self._ns(name),
            )
            run("ip", "link", "set", self._link(name), "master", bridge, "up")
            inside = ["ip", "-n", self._ns(name)]
            run(*inside, "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
            run(*inside, "link", "set", "eth0", "up")
            run(*inside, "link", "set", "lo", "up")

    def _start_hosts(self) -> None:
        client = asyncssh.generate_private_key("ssh-ed25519")
        (self.root / "id").write_bytes(client.export_private_key("openssh"))
        (self.root / "id").chmod(0o600)
        (self.root / "id.pub").write_bytes(client.export_public_key())
        known, config = [], []
        for name in self.names:
            key = self._start_sshd(name)
            known.append(
                f"[{self.addresses[name]}]:{PORT} {' '.join(key.export_public_key().decode().split()[:2])}\n"
            )
            config += [
                f"Host {name}",
                f"  HostName {self.addresses[name]}",
                f"  Port {PORT}",
                "  User root",
            ]
            config += [
                f"  IdentityFile {self.root / 'id'}",
                f"  UserKnownHostsFile {self.root / 'known_hosts'}",
            ]
        (self.root / "known_hosts").write_text("".join(known))
        self.ssh_config.write_text("\n".join(config) + "\n")
        for name in self.names:
            self._wait_for(self.addresses[name])

    def _start_sshd(self, name: str) -> asyncssh.SSHKey:
        place = self.root / name
        place.mkdir()
        key = asyncssh.generate_private_key("ssh-ed25519")
        (place / "host_key").write_bytes(key.export_private_key("openssh"))
        (place / "host_key").chmod(0o600)
        lines = [
            f"Port {PORT}",
            f"HostKey {place / 'host_key'}",
            f"AuthorizedKeysFile {self.root / 'id.pub'}",
            f"PidFile {place / 'pid'}",
            set_env(place),
            "StrictModes no",
            "UsePAM no",
            "PermitRootLogin yes",
            "MaxStartups 100",
            "MaxSessions 100",
        ]
        (place / "sshd_config").write_text("\n".join(lines) + "\n")
        script = f'hostname "$0"{self._own_places(place)} && exec "$@"'
        own_name = ["unshare", "--uts", "--mount", "sh", "-c", script, f"bench{name}"]
        command = [
            "ip",
            "netns",
            "exec",
            self._ns(name),
            *own_name,
            SSHD,
            "-D",
            "-e",
            "-f",
            str(place / "sshd_config"),
        ]
        with (place / "log").open("ab") as log:
            self._sshd.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )
        return key

    def _own_places(self, place: Path) -> str:
        """Shell that gives a host file systems of its own; mounts end with its processes."""
        if self.shared is None:
            return ""
        inside = place / "tmp"
        inside.mkdir()
        peers = self.root / "peers"
        identity = (
            f"  User root\n  IdentityFile {self.root / 'id'}\n  UserKnownHostsFile"
            f" {self.root / 'known_hosts'}\n"
        )
        peers.write_text(f"Host *\n  Port {PORT}\n{identity}  BatchMode yes\n")
        parts = [f"mount -t tmpfs own {inside}", "mount -t tmpfs own /dev/shm"]
        for kept in (self.root, self.shared):  # they lie under /tmp themselves
            there = inside / kept.relative_to("/tmp")
            parts += [f"mkdir -p {there}", f"mount --bind {kept} {there}"]
        parts += [f"mount --rbind {inside} /tmp", f"mount --bind {peers} /etc/ssh/ssh_config"]
        return "".join(f" && {part}" for part in parts)

    def _wait_for(self, address: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection((address, PORT), 1):
                return
            time.sleep(0.05)  # until sshd answers, with a deadline
        raise RuntimeError(f"sshd at {address} does not answer")
