"""What is done to runs: processes that are stopped or started beside them, files that are not what
they seem.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.lab.faults import kill
from tests.lab.sshd import SSHD_PATH, SshdLab, set_env
from tests.long.lies.lie import Place, Sabotage, Setting, hosts_of

MIB = 1 << 20
LOOP = ("sh", "-c", "while :; do :; done")
OWN_PIDS = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""What runs side by side must not take each other for somebody else's load, nor hosts of a lab."""
STOPPING_S = 0.1  # a process that waits for a device stops once it is served
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@contextmanager
def unwritten(place: Place) -> Iterator[None]:
    """A file of full size in which nothing was ever written."""
    with (place.target / "data").open("wb") as file:
        file.truncate(32 * MIB)
    yield


def partly(written: float) -> Sabotage:
    """A file whose blocks are all allocated, and of which so much was written."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[None]:
        with (place.target / "data").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 32 * MIB)
            file.write(os.urandom(int(32 * written) * MIB))
            file.flush()
            os.fsync(file.fileno())
        yield

    return sabotage


partly_written = partly(0.1)


@contextmanager
def beside(*commands: tuple[str, ...]) -> Iterator[None]:
    """Have programs running; they end by their pids."""
    made = [
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in commands
    ]
    try:
        yield
    finally:
        for each in made:
            each.kill()
            each.wait()


def busy_cpus(_: Place) -> contextlib.AbstractContextManager[None]:
    """Another program on every CPU, before the load and beside it."""
    return beside(*[LOOP] * (os.cpu_count() or 1))


WRITER = """\
import os, sys
block, handle = os.urandom(int(sys.argv[2])), os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
while True:
    for at in range(0, 32 << 20, len(block)):
        os.pwrite(handle, block, at)
"""


def writer(kib: int) -> Sabotage:
    """Another program that writes to the same disk, in blocks of this size."""

    def sabotage(place: Place) -> contextlib.AbstractContextManager[None]:
        return beside((sys.executable, "-c", WRITER, str(place.folder / "other"), str(kib << 10)))

    return sabotage


def filled_with(block: bytes) -> Sabotage:
    """A file of full size with the same block everywhere."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[None]:
        with (place.target / "data").open("wb") as file:
            file.write(block * (32 * MIB // len(block)))
            file.flush()
            os.fsync(file.fileno())
        yield

    return sabotage


@contextmanager
def other_generator(place: Place) -> Iterator[None]:
    """Somebody else's dd on the same machine."""
    with beside(
        (
            "dd",
            "if=/dev/zero",
            f"of={place.folder / 'other'}",
            "bs=4k",
            "count=1000000000",
            "oflag=dsync",
        )
    ):
        yield


@contextmanager
def pinned(place: Place) -> Iterator[Setting]:
    """A client that may use one CPU alone, on which somebody else computes."""
    one = ("taskset", "-c", "0")
    with SshdLab(place.folder / "lab", 1, wrapper=one) as lab, beside((*one, *LOOP)):
        yield Setting(hosts_of(lab))


@contextmanager
def meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Have a thread at work until the run is over."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def while_measuring(
    place: Place, host: str, work: Callable[[int], None], every_s: float
) -> contextlib.AbstractContextManager[None]:
    """Do something every few seconds from the begin of a measurement to the end of the run.

    It is told which time.
    """

    def turns(over: threading.Event) -> None:
        while not over.wait(0.1):
            if any(map(_is_measuring, place.loads(host))):
                break
        for turn in count():
            if over.is_set():
                return
            work(turn)
            over.wait(every_s)

    return meanwhile(turns)


def held_up(host: str, stopped_s: float, running_s: float) -> Sabotage:
    """Stop a host's load again and again, so that it does a part of what the others do."""

    def sabotage(place: Place) -> contextlib.AbstractContextManager[None]:
        def work(over: threading.Event) -> None:
            while not over.wait(running_s):
                stop_loads(place, host, stopped_s, over)

        return meanwhile(work)

    return sabotage


def stop_loads(place: Place, host: str, seconds: float, over: threading.Event) -> bool:
    """Stop the load of a host for some time; False when it has none, or did something meanwhile.

    A process that is forked while others are stopped is stopped too.
    """
    found: list[int] = []
    while more := [pid for pid in place.loads(host) if pid not in found and _is_measuring(pid)]:
        for pid in more:
            kill(pid, signal.SIGSTOP)
        found += more
    over.wait(STOPPING_S)
    before = _spent(found)
    if found:
        over.wait(seconds)
    stood = len(before) == len(found) and before == _spent(found)
    for pid in found:
        kill(pid, signal.SIGCONT)
    return bool(found) and stood


def _spent(pids: Sequence[int]) -> list[list[str]]:
    """Return the CPU time of stopped processes, by the kernel's count (proc(5): stat)."""
    told: list[list[str]] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            told += [words[11:13]] if words[0] == "T" else []
    return told


def _is_measuring(pid: int) -> bool:
    """Tell whether a process is the load generator's, in a measurement."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        task = next((word for word in words if word.startswith(b"BENCHTUI_TASK=")), b"")
        return Path(f"/proc/{pid}/comm").read_text().strip() == "fio" and b".measure" in task
    return False


def once(host: str, after_s: float, stopped_s: float) -> Sabotage:
    """Stop a host's load once, so long after it has begun."""

    def sabotage(place: Place) -> contextlib.AbstractContextManager[None]:
        def work(over: threading.Event) -> None:
            while not over.wait(0.02):
                if any(map(_is_measuring, place.loads(host))):
                    over.wait(after_s)
                    if not stop_loads(place, host, stopped_s, over):
                        place.undone.append(f"the load of {host} was not stopped")
                    return
            place.undone.append(f"no load of {host} was seen")

        return meanwhile(work)

    return sabotage


LATER = """\
#!/bin/sh
case $BENCHTUI_HOST/$BENCHTUI_TASK in
  {host}/*.measure*) cat /proc/uptime >>{told}; sleep {by_s}; cat /proc/uptime >>{told} ;;
esac
exec {fio} "$@"
"""


def held_back(hosts: int, host: str, by_s: float) -> Sabotage:
    """Return a sabotage in which one host starts its load generator this late."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        programs, told = place.folder / "bin", place.folder / "uptimes"
        programs.mkdir()
        (programs / "fio").write_text(
            LATER.format(host=host, told=told, by_s=by_s, fio=shutil.which("fio", path=SSHD_PATH))
        )
        (programs / "fio").chmod(0o755)
        lab = SshdLab(place.folder / "lab", hosts, wrapper=OWN_PIDS)
        for each in lab.hosts:
            each.options = (set_env(each.root, f"PATH={programs}:{SSHD_PATH}"),)
        with lab:
            yield Setting(hosts_of(lab))
            uptimes = [float(line.split()[0]) for line in _lines_of(told)]
            if len(uptimes) < 2 or uptimes[1] - uptimes[0] < by_s:
                place.undone.append(f"{host} was not held back")

    return sabotage


def _lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def interrupted(host: str, after_s: float) -> Sabotage:
    """End a host's load as Ctrl+C does, so long after it has begun."""

    def sabotage(place: Place) -> contextlib.AbstractContextManager[None]:
        def work(over: threading.Event) -> None:
            while not over.wait(0.02):
                if found := [pid for pid in place.loads(host) if _is_measuring(pid)]:
                    over.wait(after_s)
                    told = [kill(pid, signal.SIGINT) for pid in found]
                    if not any(told):
                        place.undone.append(f"the load of {host} was over")
                    return
            place.undone.append(f"no load of {host} was seen")

        return meanwhile(work)

    return sabotage


@contextmanager
def rebooted(place: Place) -> Iterator[Setting]:
    """A host that is another boot all of a sudden: all that ran there is gone, its connections
    too.
    """
    boot = place.folder / "boot_id"
    boot.write_text(f"{uuid.uuid4()}\n")
    mount = (*OWN_PIDS, "sh", "-c", f'mount --bind "$0" {BOOT_ID} && exec "$@"', str(boot))
    lab = SshdLab(place.folder / "lab", 2, wrapper=OWN_PIDS)
    host = lab.hosts[1]
    host.wrapper = mount
    with lab:

        def work(over: threading.Event) -> None:
            while not over.wait(0.1):
                if any(map(_is_measuring, place.loads(host.name))):
                    over.wait(2)
                    boot.write_text(f"{uuid.uuid4()}\n")
                    if host.process is not None:
                        host.process.kill()  # and with it all that runs there
                        host.process.wait()
                    host.start()
                    return

        with meanwhile(work):
            yield Setting(hosts_of(lab))


def gone(after_s: float) -> Sabotage:
    """One of two hosts, with all that runs there, is gone so long after its load has begun."""

    @contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        lab = SshdLab(place.folder / "lab", 2, wrapper=OWN_PIDS)
        host = lab.hosts[1]
        with lab:

            def work(over: threading.Event) -> None:
                while not over.wait(0.1):
                    if any(map(_is_measuring, place.loads(host.name))):
                        over.wait(after_s)
                        if host.process is not None:
                            host.process.kill()  # and with it all that runs there
                            host.process.wait()
                        return

            with meanwhile(work):
                yield Setting(hosts_of(lab))

    return sabotage


ANOTHER = """\
#!/bin/sh
for each; do case $each in *.fio) sed -i 's/^{option}=.*/{option}={ran}/' "$each" ;; esac; done
exec {fio} "$@" | sed -u 's/"{option}" : "{ran}"/"{option}" : "{planned}"/'
"""


RESTORED = """\
#!/bin/sh
for each; do case $each in *.fio)
  cp "$each" "$each.was" && sed -i 's/^{option}=.*/{option}={ran}/' "$each"
  (sleep 1; cat "$each.was" >"$each"; rm "$each.was") & ;; esac; done
exec {fio} "$@" | sed -u 's/"{option}" : "{ran}"/"{option}" : "{planned}"/'
"""


@contextmanager
def other_library(place: Place) -> Iterator[Setting]:
    """A copy of the library of the I/O engine, found before the system's."""
    folder = place.folder / "lib"
    told = subprocess.run(
        ["ldd", str(shutil.which("fio"))], capture_output=True, text=True, check=True
    )
    path = next(words[2] for words in map(str.split, told.stdout.splitlines())
                if words and words[0].startswith("libaio.so"))  # fmt: skip
    folder.mkdir()
    shutil.copy(path, folder / Path(path).name)
    lab = SshdLab(place.folder / "lab", 1)
    for each in lab.hosts:
        each.options = (set_env(each.root, f"LD_LIBRARY_PATH={folder}"),)
    with lab:
        yield Setting(hosts_of(lab))


@contextmanager
def other_program(place: Place) -> Iterator[Setting]:
    """Fio with one more byte at its end, which no ELF loader reads."""
    fio, copy = str(shutil.which("fio")), place.folder / "fio"
    shutil.copy(fio, copy)
    with copy.open("ab") as file:
        file.write(b"\0")
    mount = f'mount --bind {copy} {fio} && exec "$@"'
    wrapper = (*OWN_PIDS, "sh", "-c", mount, "sh")
    with SshdLab(place.folder / "lab", 1, wrapper=wrapper) as lab:
        yield Setting(hosts_of(lab))


def another_job(option: str, planned: str, ran: str, *, restored: bool = False) -> Sabotage:
    """A program in fio's place that changes an option of the job, and changes it back in what fio
    prints; with `restored` in the job file, too, once fio has read it.
    """

    @contextlib.contextmanager
    def sabotage(place: Place) -> Iterator[Setting]:
        fio, folder = str(shutil.which("fio")), place.folder / "bin"
        folder.mkdir()
        shutil.copy(fio, folder / "real")
        script = RESTORED if restored else ANOTHER
        text = script.format(option=option, planned=planned, ran=ran, fio=folder / "real")
        (folder / "fio").write_text(text)
        (folder / "fio").chmod(0o755)
        mount = f'mount --bind {folder}/fio {fio} && exec "$@"'
        wrapper = (*OWN_PIDS, "sh", "-c", mount, "sh")
        with SshdLab(place.folder / "lab", 1, wrapper=wrapper) as lab:
            yield Setting(hosts_of(lab))

    return sabotage
