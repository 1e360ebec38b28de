"""Parse answers of the remote agent: KEY=VALUE lines, and probes of a host."""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from tui.model.hostfacts import Fact, boot_of, is_number
from tui.model.operands import Clause, clause
from tui.model.plain import printable
from tui.remote.transport import Completed, HostError

# the agent prints sizes unconverted: not every sh counts beyond 2^31
UNITS = {"_kib": 1024, "_sectors": 512}
VERSION = re.compile(r"(?<!\d)(\d{1,9})\.(\d{1,9})")
COUNT = re.compile(r"[0-9]{1,18}")
# for a tool that does not print its name
BARE_VERSION = re.compile(r"^\W*version:? *(?=\d)", re.IGNORECASE)


class ToolFacts(Struct, frozen=True):
    """A command on a host; `version` is None if its output contains none.

    `failed`: the shell's exit code if the command could not be started or was killed.
    """

    path: str
    text: str
    version: tuple[int, int] | None
    failed: int = 0


class DirFacts(Struct, frozen=True):
    """A target directory; sizes in bytes, None if unknown."""

    path: str
    exists: bool = False
    is_dir: bool = False
    is_block: bool = False
    writable: bool = False
    fstype: str = ""
    source: str = ""
    mount: str = ""
    mount_options: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None
    used_bytes: int | None = None  # with free_bytes less than the total: some may be reserved
    logical_block_bytes: int | None = None  # of the one device underneath; None: none, or unknown
    on_root: bool = False  # on the root file system, maybe through a bind mount

    @property
    def full(self) -> float | None:
        """Fill level from 0 to 1, as in df: reserved space is neither used nor free; None if
        unknown.
        """
        if (
            self.used_bytes is None
            or self.free_bytes is None
            or self.used_bytes + self.free_bytes <= 0
        ):
            return None
        return self.used_bytes / (self.used_bytes + self.free_bytes)


class HostProbe(Struct, frozen=True):
    """Result of one probe of a host."""

    values: Mapping[str, Fact]
    tools: Mapping[str, ToolFacts]
    dirs: Mapping[str, DirFacts] = field(default_factory=dict)

    @property
    def boot_id(self) -> str:
        """Id of the host's current boot; equal on two hosts only if they are one machine.

        Empty if unknown.
        """
        return boot_of(self.values)

    @property
    def user(self) -> str:
        """User name under which benchtui runs commands on the host."""
        return str(self.values.get("user") or self.values.get("uid") or "?")

    def facts(self) -> dict[str, Fact]:
        """Return all known facts as a flat mapping, for journal and record.

        With several directories, the target facts are those of the last one.
        """
        found = dict(self.values)
        for facts in self.dirs.values():
            found.update(
                target=facts.path,
                target_fstype=facts.fstype,
                target_source=facts.source,
                target_mount=facts.mount,
                target_mount_options=facts.mount_options,
                target_on_root="yes" if facts.on_root else "",
                target_total_bytes=facts.total_bytes,
                target_free_bytes=facts.free_bytes,
                target_full=facts.full,
            )
        return {name: value for name, value in found.items() if value not in ("", None)}


def parse_probe(
    answer: Mapping[str, str], directories: Sequence[str], commands: Sequence[str] = ()
) -> HostProbe:
    """Parse the answer to a probe of these directories and commands, given in the same order."""
    answer = in_bytes(answer)
    values: dict[str, Fact] = {
        name: as_int(value) if is_number(name) else value
        for name, value in answer.items()
        if not name.startswith(("dir.", "command."))
    }
    tools: dict[str, ToolFacts] = {}
    for index, command in enumerate(commands):
        if path := answer.get(f"command.{index}.path"):
            text = answer.get(f"command.{index}.version", "").strip()
            failed = as_int(answer.get(f"command.{index}.failed", "")) or 0
            tools[command] = ToolFacts(path, text, version_of(text), failed)
            name = posixpath.basename(command)
            text = BARE_VERSION.sub(f"{name} ", text)
            values[f"{name}_path"] = path
            if not failed:
                values[f"{name}_version"] = text
    dirs = {
        path: parse_dir(path, answer, f"dir.{index}.") for index, path in enumerate(directories)
    }
    return HostProbe(values, tools, dirs)


def in_bytes(answer: Mapping[str, str]) -> dict[str, str]:
    """Convert sizes in an answer to bytes, and rename their keys to end in _bytes."""
    found = dict(answer)
    for suffix, unit in UNITS.items():
        for name in [name for name in found if name.endswith(suffix)]:
            size = as_int(found.pop(name))
            found[name.removesuffix(suffix) + "_bytes"] = "" if size is None else str(size * unit)
    return found


def parse_dir(path: str, answer: Mapping[str, str], prefix: str) -> DirFacts:
    """Parse the facts of one directory, from keys with this prefix."""

    def get(name: str) -> str:
        return answer.get(prefix + name, "")

    return DirFacts(
        path=path,
        exists=bool(get("exists")),
        is_dir=bool(get("is_directory")),
        is_block=bool(get("is_block")),
        writable=bool(get("writable")),
        fstype=get("fstype"),
        source=get("source"),
        mount=get("mount_point"),
        mount_options=get("mount_options"),
        on_root=bool(get("on_root")),
        total_bytes=as_int(get("total_bytes")),
        free_bytes=as_int(get("free_bytes")),
        used_bytes=as_int(get("used_bytes")),
        logical_block_bytes=as_int(get("logical_block")),
    )


def version_of(text: str) -> tuple[int, int] | None:
    """Return (major, minor) from a text like ``tool-3.33`` or ``tool-3.42-135-gf5344384``; None if
    it has none.
    """
    match = VERSION.search(text)
    return (int(match[1]), int(match[2])) if match else None


def as_int(text: str) -> int | None:
    """Return an integer that fits into 64 bits; None for anything else."""
    return int(text) if COUNT.fullmatch(text.strip()) else None


KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISBLK, "block"),
    (stat.S_ISCHR, "char"),
)
QUOTED_CHARACTERS = 160  # of a host's output, in an error message


class FileInfo(Struct, frozen=True):
    """A path on a host: size and allocated bytes; its kind is file, directory, block, char or
    other.
    """

    size: int
    allocated: int
    kind: str = "file"


class TaskStatus(Struct, frozen=True):
    """State of a command as reported by the agent.

    `exit_code`: None if the command has not ended, or if its code is unknown. `alive`: the
    supervisor is running. `left`: number of processes that survived SIGKILL. `flood`, for a load
    that printed too much: stream, kB, seconds.
    """

    done: bool
    alive: bool
    exit_code: int | None
    reason: str
    out_bytes: int
    err_bytes: int
    rebooted: bool = False
    left: int = 0
    started: bool = False
    flood: str = ""


class CacheDrop(Struct, frozen=True):
    """Result of dropping the page cache; `method` is root, sudo, files (only the pages of test
    files) or none.
    """

    method: str
    ok: bool
    detail: str


class MarkedProcess(Struct, frozen=True):
    """A process started by one of the user's runs."""

    pid: int
    run: str
    host: str
    task: str
    command: str


LAST_MADE = "reserve.done"  # in a task's directory, behind the job file (sh/start.sh, bt_furnish)


class LoadProcess(Struct, frozen=True):
    """A process with open files that belongs to a load.

    `files`: flags of open(2), and path. `words`: its command line, joined by spaces.
    `job_file_sum`: ``CRC:SIZE`` of cksum(1) for the job file in its directory; `preload`:
    libraries, joined by colons. Both are empty if unknown or none. `touched`: the job file was
    changed after it was sent. `replaced`: mapped libraries in place of the system's. `program`: the
    file it runs, if that is not the load generator that was checked.
    """

    pid: int
    files: tuple[tuple[int, str], ...]
    words: str
    job_file_sum: str = ""
    preload: str = ""
    touched: bool = False
    replaced: tuple[str, ...] = ()
    program: str = ""


class FileExtents(Struct, frozen=True):
    """A file's size, its allocated bytes, and how many of these were never written."""

    size: int
    mapped: int
    unwritten: int

    @property
    def never_written(self) -> int:
        """Bytes that read as zeros without storage I/O: holes and unwritten extents."""
        return min(self.size, max(0, self.size - self.mapped) + self.unwritten)


class TaskDir(Struct, frozen=True):
    """Private directory of a task on a host."""

    run: str
    host: str
    task: str
    alive: bool
    done: bool
    age_s: int
    bytes: int = 0


class Gone(Struct, frozen=True):
    """Part of a run that the agent ended or removed; `size` is the number of processes, or
    bytes.
    """

    run: str
    host: str
    size: int


class Expired(Struct, frozen=True):
    """Abandoned leftovers of other runs that the agent removed."""

    ended: list[Gone]
    removed: list[Gone]


class AgentAnswer(Struct):
    """Lines between BT-BEGIN and BT-END, as received.

    `values`: the first value of each key in the KEY=VALUE lines, printable.
    """

    values: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def all(self, key: str) -> list[str]:
        """Return all values of a repeated key."""
        prefix = f"{key}="
        return [
            printable(line.removeprefix(prefix)) for line in self.lines if line.startswith(prefix)
        ]


class AgentError(HostError):
    """Raised when the agent refuses or fails; `answer` is its output so far."""

    def __init__(self, host: str, told: Clause, answer: AgentAnswer) -> None:
        super().__init__("agent-failed", host, told)
        self.answer = answer


def parse_answer(done: Completed, token: str, host: str) -> AgentAnswer:
    """Parse the agent's answer.

    Raises AgentError if it reports a failure or ends early; HostError if the connection was lost,
    if the answer never began, or if other output follows it.
    """
    text = done.stdout.decode(errors="replace")
    begin = text.find(f"BT-BEGIN {token}\n")
    if begin < 0:
        raise no_answer(done, host)
    body, end, rest = text[begin:].partition(f"BT-END {token} ")
    code, _, after = rest.partition("\n")
    answer = AgentAnswer(lines=body.split("\n")[1:])
    for line in answer.lines:
        key, equals, value = line.partition("=")
        if equals:
            answer.values.setdefault(key, printable(value))
    if not end and done.exit_status is None:
        raise HostError("lost", host, clause("lost-in-answer"))
    if not end or code.strip() != "0":
        said = answer.values.get("error") or last_line(done.stderr)
        told = clause("problem", quote=said) if said else clause("agent-ended-early")
        raise AgentError(host, told, answer)
    if after.strip():
        raise HostError("forced-command", host, clause("unexpected-output", quote=quoted(after)))
    return answer


def no_answer(done: Completed, host: str) -> HostError:
    """Return the error for an answer without a beginning.

    The connection was lost, or something other than /bin/sh received the script.
    """
    if done.exit_status is None:
        return HostError("lost", host, clause("lost-before-answer"))
    lines = (done.stdout + b"\n" + done.stderr).decode(errors="replace").strip().splitlines()
    printed = quoted(lines[0]) if lines else ""
    return HostError("forced-command", host, clause("not-run-by-sh", quote=printed))


def last_line(data: bytes) -> str:
    """Return the last non-empty line as `quoted` text; empty if there is none."""
    lines = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
    return quoted(lines[-1]) if lines else ""


def quoted(text: str, most: int = QUOTED_CHARACTERS) -> str:
    """Return host output as one short line without control characters."""
    return printable(text).strip()[:most]


def parse_files(paths: Sequence[str], answer: AgentAnswer, host: str) -> dict[str, FileInfo | None]:
    """Parse the answer of `bt_files`; return each path's file, None if it does not exist.

    Raises HostError if the answer does not match the paths.
    """
    lines = iter([line for line in answer.lines if line and not line.startswith("map=")])
    present = answer.values.get("map", "")
    if len(present) != len(paths):
        raise HostError("agent-failed", host, clause("files-incomplete"))
    return {
        path: file_info(next(lines, "")) if there == "1" else None
        for path, there in zip(paths, present, strict=True)
    }


def file_info(line: str) -> FileInfo | None:
    """Parse `size blocks block_size mode`; None if the file has vanished."""
    words = line.split()
    if len(words) < 3 or not words[0].isdigit():
        return None
    mode = int(words[3], 16) if len(words) > 3 and words[3] != "-" else stat.S_IFREG
    kind = next((name for test, name in KINDS if test(mode)), "other")
    return FileInfo(int(words[0]), int(words[1]) * int(words[2]), kind)


NO_EXTENTS = {
    "no-filefrag": "filefrag (e2fsprogs) not found",
    "no-extents": "the file system does not report extents",
    "no-file": "a test file does not exist",
}


def parse_extents(answer: AgentAnswer, paths: Sequence[str]) -> tuple[dict[str, FileExtents], str]:
    """Parse the answer of `bt_extents`; return the extents of each file, and the reason for each
    file without extents.
    """
    found: dict[str, FileExtents] = {}
    for line in answer.all("at"):
        words = [int(word) for word in line.split() if word.isdigit()]
        if len(words) == 4 and words[0] < len(paths):
            found[paths[words[0]]] = FileExtents(*words[1:])
    why = answer.values.get("why", "")
    return found, NO_EXTENTS.get(why, why)


BLOCK_BYTES = 4096
LEAST_PIECES = 4 * BLOCK_BYTES // 16  # of four blocks


class BlockSample(Struct, frozen=True):
    """Content of sampled blocks: numbers of blocks read, of zero blocks, and of distinct other
    blocks.

    `packed`: mean size of the other blocks after gzip, as a share; 1: incompressible, None: no such
    blocks. `row`, `apart`: distinct 16-byte pieces as a share of all non-zero pieces, in one
    contiguous MiB (`row`) and in all sampled blocks (`apart`); None if there are too few pieces.
    """

    blocks: int
    zero: int
    distinct: int
    packed: float | None
    row: float | None = None
    apart: float | None = None


def parse_content(answer: AgentAnswer) -> BlockSample:
    """Parse the answer of `bt_sample`."""
    zero = answer.values.get("zero", "")
    found = [words for line in answer.all("at") if len(words := line.split()) == 3]
    data = [(crc, int(size)) for _, crc, size in found if crc != zero and size.isdigit()]
    sizes = [min(size / BLOCK_BYTES, 1.0) for _, size in data if size]
    packed = round(sum(sizes) / len(sizes), 3) if sizes else None
    distinct = len({crc for crc, _ in data})
    row, apart = (_different(answer.values.get(name, "")) for name in ("row", "apart"))
    return BlockSample(len(found), len(found) - len(data), distinct, packed, row, apart)


def _different(text: str) -> float | None:
    """Return the share of different pieces from ``PIECES DIFFERENT``."""
    pieces, _, different = text.partition(" ")
    if not (pieces.isdigit() and different.isdigit()) or int(pieces) < LEAST_PIECES:
        return None
    return round(int(different) / int(pieces), 3)


def parse_status(answer: AgentAnswer) -> TaskStatus:
    """Parse the state of a task."""
    values = answer.values
    code = values.get("exit", "")
    return TaskStatus(
        done=bool(values.get("done")),
        alive=bool(values.get("alive")),
        exit_code=int(code) if code.isdigit() else None,
        reason=values.get("reason", ""),
        out_bytes=int(values.get("out_bytes") or 0),
        err_bytes=int(values.get("err_bytes") or 0),
        rebooted=bool(values.get("rebooted")),
        left=int(values.get("left") or 0),
        started=bool(values.get("started")),
        flood=values.get("flood", ""),
    )


def parse_processes(answer: AgentAnswer) -> list[MarkedProcess]:
    """Parse lines ``process=PID NAME=VALUE... | command`` of an answer."""
    return [marked_process(line) for line in answer.all("process")]


def marked_process(line: str) -> MarkedProcess:
    """Parse one process from ``PID NAME=VALUE... | command``."""
    left, _, command = line.partition("| ")
    pid, *marks = left.split()
    named = dict(mark.split("=", 1) for mark in marks if "=" in mark)
    run, host, task = (named.get(f"BENCHTUI_{name}", "") for name in ("RUN", "HOST", "TASK"))
    return MarkedProcess(int(pid), run, host, task, command.strip())


def load_processes(answer: AgentAnswer) -> list[LoadProcess]:
    """Parse lines ``open=PID FLAGS PATH``, ``ran=PID SUM PRELOAD WORDS``,
    ``stamp=CTIME|MTIME|/proc/PID/cwd/NAME``, ``mapped=PID PATH`` and ``program=PID PATH`` of an
    answer.
    """
    files: dict[str, list[tuple[int, str]]] = {}
    for line in answer.all("open"):
        pid, _, rest = line.partition(" ")
        flags, _, path = rest.partition(" ")
        if flags.isdecimal():
            files.setdefault(pid, []).append((int(flags, 8), path))
    found, touched = [], _touched(answer)
    mapped = [line.split(" ", 1) for line in answer.all("mapped") if " " in line]
    programs = dict(line.split(" ", 1) for line in answer.all("program") if " " in line)
    for line in answer.all("ran"):
        pid, total, preload, words = (*line.split(" ", 3), "", "", "")[:4]
        total, preload = ("" if each == "-" else each.strip(":") for each in (total, preload))
        libraries = tuple(dict.fromkeys(path for of, path in mapped if of == pid))
        opened = tuple(files.get(pid, ()))
        if not pid.isdecimal():
            continue
        found.append(
            LoadProcess(
                int(pid),
                opened,
                words.strip(),
                total,
                preload,
                pid in touched,
                libraries,
                programs.get(pid, ""),
            )
        )
    return found


def _touched(answer: AgentAnswer) -> set[str]:
    """Return the processes whose job file changed after the agent created its last file.

    The change time of a file cannot be set back, unlike its modification time. All times are from
    one clock and in one notation, so they can be compared as texts.
    """
    changed, made = dict[str, str](), dict[str, str]()
    for line in answer.all("stamp"):
        change, _, rest = line.partition("|")
        modified, _, path = rest.partition("|")
        pid, _, name = path.removeprefix("/proc/").partition("/cwd/")
        if name == LAST_MADE:
            made[pid] = modified
        else:
            changed[pid] = change
    return {pid for pid, at in changed.items() if pid in made and at > made[pid]}


def parse_tasks(answer: AgentAnswer) -> list[TaskDir]:
    """Parse task directories from lines ``task=ALIVE DONE EPOCH KIB RUN/HOST/TASK``."""
    now = int(answer.values.get("now") or 0)
    found = []
    for line in answer.all("task"):
        alive, done, epoch, kib, path = line.split(" ", 4)
        run, host, task = path.split("/", 2)
        age = now - int(epoch) if epoch.isdigit() and int(epoch) else 0
        found.append(
            TaskDir(
                run,
                host,
                task,
                alive == "1",
                done == "1",
                age,
                int(kib) * 1024 if kib.isdigit() else 0,
            )
        )
    return found


def parse_expired(answer: AgentAnswer) -> Expired:
    """Parse what was removed from lines ``ended=COUNT RUN/HOST/TASK`` and ``removed=KIB
    RUN/HOST``.
    """

    def gone(key: str, unit: int) -> list[Gone]:
        words = [line.replace("/", " ").split() for line in answer.all(key)]
        return [
            Gone(run, host, int(count) * unit) for count, run, host, *_ in words if count.isdigit()
        ]

    return Expired(gone("ended", 1), gone("removed", 1024))
