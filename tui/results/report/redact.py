"""Records without names: hosts, addresses, users, paths and words of the operator's own, replaced alike everywhere.

What stays: figures, facts of hardware and software, and parts of paths that name nothing (``/mnt``, ``/dev/nvme0n1``).
Remarks, tags and one's own profiles are free text, in which no program knows the names: they are left out whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import msgspec

from tui import workloads
from tui.model.record import RunRecord
from tui.results.baselines.text import View
from tui.results.report.content import Source

if TYPE_CHECKING:
    from tui.results.compare.trend import Trend

REMARK = "Names, addresses, paths and remarks were replaced or left out; the same name stands for the same thing."
OWN_FACTS = frozenset({"hostname", "user", "uid", "boot_id", "machine_id", "serial", "wwn", "wwid", "uuid", "guid"})
BY_NAME = frozenset({"per_host", "per_job", "jobs", "tasks", "tool_versions", "hosts"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS_OF_OURS = _words(
    "metric direction unit severity state verdict scheme latency_kind schema phase kind change figure outcome method "
    "id code role transport ended created_utc ended_utc utc start_utc end_utc sha256 benchtui_version answer"
)
"""Keys whose values are words of the schema: no name is replaced in them, though a host may be called `read`."""

PLAIN_PARTS = _words(
    "bin boot data dev disk etc export exports fs home lib lib64 local log media mnt mount nfs opt proc root run sbin "
    "scratch shared srv sys test tmp usr var volumes work benchtui python python3 raw by-id "
    "by-path by-uuid mapper null zero shm stdin stdout stderr read write trim"
)
DEVICE = re.compile(r"(sd[a-z]+\d*|nvme\d+(n\d+(p\d+)?)?|vd[a-z]+\d*|xvd[a-z]+\d*|md\d+|dm-\d+|loop\d+|nbd\d+|ram\d+)")
PATH = re.compile(r"(?<![\w/.])(?:/[\w.@%+:,~$-]+)+/?")
PART = re.compile(r"[^/]+")
MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}(?![\w:])")  # and GIDs of InfiniBand
MAYBE_ADDRESS = re.compile(r"(?<![\w.:])(?:[0-9a-fA-F]*[:.]){2,}[0-9a-fA-F]*(?<![.])(?!\w)")
UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
USER_AT = re.compile(r"(?<![\w.-])([\w.-]+)@(?=[\w\[])")
EXPORT = re.compile(r"(?<![\w./-])([A-Za-z][\w-]*(?:\.[\w-]+)*)(?=:/)")
DOMAIN = re.compile(r"(?<![\w./@-])(?:[A-Za-z][\w-]*\.)+([A-Za-z]{2,})(?![\w/])")
ENDINGS = _words(
    "com net org edu gov mil info io ai cloud local lan internal intern corp home localdomain example test invalid "
    "de uk us fr ch at nl be eu it es pt pl cz se fi dk ie jp cn kr tw sg au nz ca br mx ru ua za"
)  # of host names; other words with dots between them are options and columns: vm.dirty_ratio, nic.eth0.rx
LEAST_WORD = 4
SYSTEM = re.compile(r"/(?:sys|proc|(?:usr/)?(?:s?bin|lib\d*))(?:/|$)")
NO_NAMES = _words("vm host node client server local localhost linux debian ubuntu rocky centos jump")
TAG_OF_OURS = re.compile(r"\d{8}T\d{6}Z-[a-z0-9-]+-[0-9a-f]{4}")


@dataclass
class Names:
    """What stands for what: ``host-1`` for the first host, the same in every run of a report."""

    known: dict[str, str] = field(default_factory=dict)
    in_paths: dict[str, str] = field(default_factory=dict)  # too short to be told from words elsewhere
    kept: set[str] = field(default_factory=set)  # ids of runs that name nobody
    counts: dict[str, int] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def give(self, name: str, kind: str) -> str:
        """Return what stands for a name, a new one when it is not known yet."""
        key = name.casefold()
        if key not in self.known:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.known[key] = f"{kind}-{self.counts[kind]}"
            self._pattern = None
        return self.known[key]

    def give_part(self, part: str) -> str:
        """Return what stands for a part of a path."""
        if len(part) >= LEAST_WORD or part.casefold() in self.known:
            return self.give(part, "dir")
        return self.in_paths.setdefault(part, f"d{len(self.in_paths) + 1}")

    def alias(self, name: str, other: str) -> None:
        """Let a name stand for the same as another one, which is known."""
        if name and name.casefold() not in self.known:
            self.known[name.casefold()] = self.known[other.casefold()]
            self._pattern = None

    def in_text(self, text: str) -> str:
        """Return a text with every known name replaced, the longest first; parts of words are no names."""
        if not self.known:
            return text
        if self._pattern is None:
            longest = sorted(self.known, key=len, reverse=True)
            self._pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])", re.IGNORECASE)
        return self._pattern.sub(lambda found: self.known[found[0].casefold()], text)


def redacted(sources: Sequence[Source], words: Sequence[str] = ()) -> list[Source]:
    """Return runs without names; `words` are more of them. The runs on disk stay as they are."""
    names = Names()
    for word in filter(None, (word.strip() for word in words)):
        names.give(word, "name")
    for source in sources:
        _learn(names, source.record)
    return [_redacted(names, source, number) for number, source in enumerate(sources, 1)]


def _learn(names: Names, record: RunRecord) -> None:
    """Give a name to everything that is known to be one, before any text is looked at."""
    for kind, hosts in (("host", record.hosts), ("server", record.servers)):
        for host in hosts:
            names.give(host.name, kind)
            for alias in (str(host.facts.get("hostname") or ""), host.name.partition(".")[0]):
                if len(alias) > 1 and not alias.isdigit() and alias.casefold() not in NO_NAMES:
                    names.alias(alias, host.name)
            _learn_user(names, host.facts.get("user"))
            for part in host.name.split(".")[1:-1]:
                names.give(part, "domain") if len(part) >= LEAST_WORD and not part.isdigit() else None
    jump = record.provenance.jump_host
    for key in ("hostname", "host", "name"):
        if jump.get(key, "").casefold() not in {"", *NO_NAMES}:
            names.give(jump[key], "jump-host")
    _learn_user(names, jump.get("user"))
    if record.target and not record.target.startswith("/"):
        names.give(record.target, "target")
    if record.profile.preset is not True:
        names.give(record.profile.tag, "profile")
        for job in {job for step in record.steps for job in (step.results.jobs or {})}:
            names.give(job, "job")
    for each in record.attested:
        names.give(each.by, "person") if each.by else None


def _learn_user(names: Names, user: object) -> None:
    if isinstance(user, str) and user and user != "root":
        names.give(user, "user")


def _redacted(names: Names, source: Source, number: int) -> Source:
    """Return one run without names. Its journal is read for histograms alone: hosts are not told apart in them."""
    record = source.record
    kept = record.run_id if record.profile.preset and TAG_OF_OURS.fullmatch(record.run_id) else f"run-{number}"
    left = record.model_copy(update={"run_id": kept, "notes": [], "tags": {}})
    names.kept.add(kept)
    if record.run_id != kept:
        names.known.setdefault(record.run_id.casefold(), kept)
        names._pattern = None
    data = _without_free_text(left.model_dump(mode="json", by_alias=True), own=record.profile.preset is not True)
    replacer = Replacer(names)
    _walk(data, replacer)  # once to learn every name: one that comes late stands in early texts, too
    view = source.published and _without_names(source.published, names)
    told = RunRecord.model_validate(_walk(data, replacer))
    history = [_nameless(names, each, record.run_id, kept) for each in source.history]
    return replace(source, record=told, published=view, called="", history=history)


def _nameless(names: Names, found: Trend, own: str, kept: str) -> Trend:
    """Return a history without names: its runs by number, `own` as it is called in the rest of the report."""
    runs = [
        msgspec.structs.replace(run, run_id=kept if run.run_id == own else f"run {place} of {len(found.runs)}")
        for place, run in enumerate(found.runs, 1)
    ]
    profile, point = names.in_text(found.profile), names.in_text(found.point)
    return replace(found, profile=profile, point=point, target="", runs=tuple(runs))


def _without_names(view: View, names: Names) -> View:
    """Return published figures without names: one's own baselines may hold some."""
    rows = [msgspec.structs.replace(row, label=names.in_text(row.label)) for row in view.rows]
    notes = [msgspec.structs.replace(note, text=names.in_text(note.text)) for note in view.notes]
    return msgspec.structs.replace(view, tag=names.in_text(view.tag), rows=tuple(rows), notes=tuple(notes))


def _without_free_text(data: dict[str, Any], *, own: bool) -> dict[str, Any]:
    """Return a record without what people wrote, and without facts that are nothing but a name."""
    profile = data["profile"]
    for each in (*data["hosts"], *data["servers"]):
        each["facts"] = {name: value for name, value in each["facts"].items() if name not in OWN_FACTS}
    if own:
        profile.update(title="", text=None, source={}, bases=[], extends=[])
        for member in profile["members"]:
            member.update(title="", text=None, source={}, extends=[])
    for each in profile["job_files"]:
        each["text"] = "\n".join(line for line in each["text"].splitlines() if not line.lstrip().startswith(("#", ";")))
    return data


@dataclass
class Replacer:
    """Replaces the names in a text, those that it finds there among them."""

    names: Names

    def text(self, text: str) -> str:
        """Return a text without names."""
        found = UUID.sub(self._as("id"), text)
        found = USER_AT.sub(lambda match: f"{self._user(match[1])}@", found)
        found = EXPORT.sub(lambda match: self._host(match[1]), found)
        found = PATH.sub(self._path, found)
        found = MAYBE_ADDRESS.sub(self._address, MAC.sub(self._as("address"), found))
        found = DOMAIN.sub(self._domain, found)
        return self.names.in_text(found)

    def _as(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda match: self.names.give(match[0], kind)

    def _user(self, name: str) -> str:
        return name if name == "root" else self.names.give(name, "user")

    def _host(self, name: str) -> str:
        return name if len(name) < 2 else self.names.give(name, "server")

    def _address(self, match: re.Match[str]) -> str:
        """Return what stands for an IP address; versions and times of day look like one, and are none."""
        text = match[0] if match[0].endswith("::") else match[0].rstrip(":")
        try:
            known = ip_address(text)
        except ValueError:
            return match[0]
        return match[0] if known.is_loopback else self.names.give(text, "address") + match[0][len(text) :]

    def _domain(self, match: re.Match[str]) -> str:
        return self.names.give(match[0], "server") if match[1].lower() in ENDINGS else match[0]

    def _path(self, match: re.Match[str]) -> str:
        """Return a path without names; those of the system hold none."""
        return match[0] if SYSTEM.match(match[0]) else PART.sub(self._part, match[0])

    def _part(self, match: re.Match[str]) -> str:
        part = match[0]
        ours = part.lower().lstrip(".") in PLAIN_PARTS or part in workloads.names()
        plain = ours or DEVICE.fullmatch(part) or part.isdigit() or "$" in part
        if (
            plain
            or part in self.names.kept
            or part.casefold() in self.names.known.values()
            or part.startswith(("benchtui-", ".benchtui"))
        ):
            return part
        return self.names.give_part(part)


def _walk(value: Any, replacer: Replacer, key: str = "") -> Any:
    """Return a document with its texts replaced; keys of maps by host too, words of the schema not at all."""
    if isinstance(value, str):
        return value if key in WORDS_OF_OURS else replacer.text(value)
    if isinstance(value, list):
        return [_walk(each, replacer, key) for each in value] if _has_text(value) else value
    if isinstance(value, Mapping):
        named = key in BY_NAME
        keys = {name: replacer.names.in_text(name) if named else name for name in value}
        inner = {name: _walk(each, replacer, "jobs" if key == "per_job" else name) for name, each in value.items()}
        return {keys[name]: each for name, each in inner.items()}
    return value


def _has_text(values: Sequence[Any]) -> bool:
    """Tell whether a list may hold a text: long series of numbers are left as they are."""
    return not values or not isinstance(values[0], int | float | None) or any(isinstance(each, str) for each in values)
