"""Redact records: replace hosts, addresses, users, paths; remove free text.

A name has the same replacement in the whole report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import msgspec

from tui import workloads
from tui.metrics.telemetry import TELEMETRY
from tui.model.check_names import FORMER
from tui.model.criteria import DIRECTIONS, THRESHOLDS
from tui.model.hostfacts import Fact
from tui.model.record import MemberRecord, ProfileRecord, RunRecord
from tui.view.published import PublishedView
from tui.view.report.content import ReportedRun

if TYPE_CHECKING:
    from tui.analysis.trend import Trend

CAVEAT = "Names, addresses, paths and notes were replaced consistently or removed."
OWN_FACTS = frozenset(
    {"hostname", "user", "uid", "boot_id", "machine_id", "serial", "wwn", "wwid", "uuid", "guid"}
)
BY_NAME = frozenset({"per_host", "per_job", "jobs", "tasks", "tool_versions", "hosts"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS_OF_OURS = _words(
    "metric direction unit severity state verdict scheme latency_kind schema phase kind change"
    " figure outcome method id code role transport ended created_utc ended_utc utc start_utc"
    " end_utc sha256 benchtui_version answer"
)
"""Keys whose values are words of the schema.

They are never replaced, even if a host is called `read`.
"""

PLAIN_PARTS = _words(
    "bin boot data dev disk etc export exports fs home lib lib64 local log media mnt mount nfs opt"
    " proc root run sbin scratch shared srv sys test tmp usr var volumes work benchtui python"
    " python3 raw by-id by-path by-uuid mapper null zero shm stdin stdout stderr read write trim"
)
DEVICE = re.compile(
    r"(sd[a-z]+\d*|nvme\d+(n\d+(p\d+)?)?|vd[a-z]+\d*|xvd[a-z]+\d*|md\d+|dm-\d+|loop\d+|nbd\d+|ram\d+)"
)
BELOW = r"(?:/[\w.@%+:,~$-]+)"
PATH = re.compile(rf"(?<![\w/.]){BELOW}+/?")
PART = re.compile(r"[^/]+")
# also GIDs of InfiniBand
MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}(?![\w:])")
# with an optional protocol and port
IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
MAYBE_IPV6 = re.compile(
    r"(?:(?<![\w.:])|(?<=\w:))(?:[0-9a-fA-F]*[:.]){2,}[0-9a-fA-F]*(?<![.])(?!\w)"
)
UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
# names of SAN devices
WORLDWIDE = re.compile(
    r"\b(?:[in]qn\.\d{4}-\d\d\.[\w.:-]*\w|(?:eui|naa)\.[0-9a-f]{16,32}\b)", re.IGNORECASE
)
USER_AT = re.compile(r"(?<![\w.-])([\w.-]+)@(?=[\w\[])")
URL = re.compile(
    rf"(?<!\w)([A-Za-z][\w+.-]{{0,30}}://)(?:([\w.%+-]+)(?::[^\s/]*)?@)?([\w.-]*)((?:\[[^\]\s]*\])?(?::\d+)?)({BELOW}*/?)"
    r"(?:[?#][^\s\"'<>)]*)?"
)
SHARE = re.compile(rf"(?<![\w:/])//([\w.-]+)({BELOW}*)")
HOST = r"[A-Za-z][\w-]*(?:\.[\w-]+)*"
EXPORT = re.compile(
    # possessive quantifiers fail in groups before Python 3.11.5; atomic groups do not
    rf"(?<![\w./-])(?>(?:{HOST}(?::\d+)?,){{0,64}})(?>{HOST})(?::\d+)?(?=:/(?!/))"
)
IN_EXPORT = re.compile(rf"(?<![\w.:-]){HOST}")
DOMAIN = re.compile(r"(?<![\w./-])(?:[A-Za-z][\w-]*\.)+([A-Za-z]{2,})(?!\w)")
ENDINGS = _words(
    "com net org edu gov mil info io ai cloud local lan internal intern corp home localdomain"
    " example test invalid de uk us fr ch at nl be eu it es pt pl cz se fi dk ie jp cn kr tw sg au"
    " nz ca br mx ru ua za"
    # endings of host names; other dotted words are host names unless known as something else
)
# first parts of dotted words that are no host names: kernel settings, programs, columns
COLUMNS = _words("vm net kernel fs sunrpc fuse benchtui asyncssh").union(
    DIRECTIONS, (family for family, _ in TELEMETRY)
)
KINDS = _words(
    "json jsonl txt log csv xml html md yaml yml ini conf cfg job toml gz xz tgz tar zip so ko py"
    " sh service socket target timer slice scope mount nano micro small medium large xlarge metal"
)  # files, units of systemd, machines of clouds: what they end with
# as in straggler.rate
CHECKS = frozenset(name.partition(".")[0] for name in THRESHOLDS) | FORMER.keys()
NETWORK = re.compile(r"(?:tcp|o2ib|gni|v)\d*")  # of Lustre's addresses; v1 and v2 of Ceph's
WORD_OF_SOURCE = re.compile(r"[^\s,:/@=;()]+")
BRACKETS = re.compile(r"\[[^\]]*\]")
NAMING = re.compile(
    r"(?:^|[,\s])(?:user(?:name)?|dom(?:ain)?|workgroup|name|fs|fsname|mds_namespace|cluster|volume|container_name)"
    r"=([^,\s]+)"
)  # options of mounts whose values are names
FILE_SYSTEMS = _words(
    "tmpfs overlay none rootfs devtmpfs ramfs fuse fuseblk sshfs nfs nfs4 cifs smb3 smbfs zfs btrfs"
    " ceph ceph-fuse lustre wekafs gpfs glusterfs juicefs beegfs_nodev default"
)
LEAST_WORD = 4
SYSTEM = re.compile(r"/(?:sys|proc|(?:usr/)?(?:s?bin|lib\d*))(?:/|$)")
NO_NAMES = _words(
    "vm host node client server local localhost linux debian ubuntu rocky centos jump"
)
TAG_OF_OURS = re.compile(r"\d{8}T\d{6}Z-[a-z0-9-]+-[0-9a-f]{4}")


@dataclass
class Names:
    """Names and their replacements, shared by all runs of a report.

    ``host-1`` is the first host.
    """

    known: dict[str, str] = field(default_factory=dict)
    # too short to distinguish from other words
    in_paths: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)  # run IDs, which identify nothing
    given: set[str] = field(default_factory=set)  # replacements
    public: set[str] = field(default_factory=set)  # sites named by presets
    # load generators of the runs, which are also endings of their files
    tools: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def give(self, name: str, kind: str) -> str:
        """Return the replacement of a name; a name seen first gets a new one."""
        key = name.casefold()
        if key not in self.known:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.known[key] = f"{kind}-{self.counts[kind]}"
            self.given.add(self.known[key])
            self._pattern = None
        return self.known[key]

    def may_stay(self, word: str) -> bool:
        """Return whether a word may stay: it is a replacement, or identifies nothing."""
        return word in self.kept or word.casefold() in self.given

    def give_part(self, part: str) -> str:
        """Return the replacement of one component of a path."""
        if len(part) >= LEAST_WORD or part.casefold() in self.known:
            return self.give(part, "dir")
        return self.in_paths.setdefault(part, f"d{len(self.in_paths) + 1}")

    def alias(self, name: str, other: str) -> None:
        """Give `name` the replacement that `other` has."""
        if name and name.casefold() not in self.known:
            self.known[name.casefold()] = self.known[other.casefold()]
            self._pattern = None

    def in_text(self, text: str) -> str:
        """Return a text with every known name replaced, the longest first.

        Parts of words are left alone, and replacements too: a user may be called ``user``."""
        if not self.known:
            return text
        if self._pattern is None:
            longest = sorted({*self.known, *self.given}, key=len, reverse=True)
            self._pattern = re.compile(
                rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])", re.IGNORECASE
            )
        return self._pattern.sub(lambda found: self.known.get(found[0].casefold(), found[0]), text)


def redacted(sources: Sequence[ReportedRun], words: Sequence[str] = ()) -> list[ReportedRun]:
    """Return the runs with all names replaced; `words` are further names to replace.

    The runs on disk are unchanged.
    """
    names = Names()
    for word in filter(None, (word.strip() for word in words)):
        names.give(word, "name")
    for source in sources:
        _learn(names, source.record)
    return [_redacted(names, source, number) for number, source in enumerate(sources, 1)]


def _learn(names: Names, record: RunRecord) -> None:
    """Collect every name in a record, before any text is replaced."""
    for kind, hosts in (("host", record.hosts), ("server", record.servers)):
        for host in hosts:
            _learn_host(names, host.name, kind, str(host.facts.get("hostname") or ""))
            _learn_user(names, host.facts.get("user"))
    for host in (*record.hosts, *record.servers):
        _learn_mount(names, host.facts)
    names.tools.update(step.tool for step in record.steps if step.tool)
    names.public.update(_sites(record.profile) if record.profile.preset is True else ())
    jump = record.provenance.jump_host
    for key in ("hostname", "host", "name"):
        if jump.get(key, "").casefold() not in {"", *NO_NAMES}:
            names.give(jump[key], "jump-host")
    _learn_user(names, jump.get("user"))
    if record.target and not record.target.startswith("/"):
        _learn_source(names, record.target) if re.search("[:/,@]", record.target) else None
        names.give(record.target, "target")
    if record.profile.preset is not True:
        names.give(record.profile.tag, "profile")
        for job in {job for step in record.steps for job in (step.results.jobs or {})}:
            names.give(job, "job")
    for each in record.attested:
        names.give(each.by, "person") if each.by else None


def _learn_host(names: Names, name: str, kind: str, *others: str) -> None:
    """Add a host. Its other names, and its first label, get the same replacement.

    Its domains get their own.
    """
    names.give(name, kind)
    first, *domains = name.split(".")
    for alias in (*others, first):
        if len(alias) > 1 and not alias.isdigit() and alias.casefold() not in NO_NAMES:
            names.alias(alias, name)
    _learn_domains(names, domains)


def _learn_domains(names: Names, labels: Sequence[str]) -> None:
    for label in labels[:-1]:
        names.give(label, "domain") if len(label) >= LEAST_WORD and not label.isdigit() else None


def _learn_mount(names: Names, facts: Mapping[str, Fact]) -> None:
    """Add the source of a mount, and the users, domains and file systems in its options."""
    own = str(facts.get("target_fstype") or "").casefold().split(".")
    _learn_source(names, str(facts.get("target_source") or ""), own)
    for value in NAMING.findall(str(facts.get("target_mount_options") or "")):
        names.give(value, "name") if not _is_plain(value, own) else None


def _learn_source(names: Names, source: str, own: Sequence[str] = ()) -> None:
    """Add the servers, pools and file systems named in a mount source.

    This includes paths after ``:/`` and ``//SERVER``. `own`: words that belong to the type of file
    system and stay.
    """
    share = source.startswith("//")
    if "://" in source or (source.startswith("/") and not share):
        return
    head, served, _ = source.removeprefix("//").partition("/" if share else ":/")
    for found in WORD_OF_SOURCE.findall(BRACKETS.sub(" ", UUID.sub(" ", head))):
        word = found.strip(".")
        if _is_plain(word, own) or ("::" in head and re.fullmatch("[0-9a-fA-F]{1,4}", word)):
            continue
        _learn_host(names, word, "server") if share or served else names.give(word, "dir")


def _is_plain(word: str, own: Sequence[str] = ()) -> bool:
    """Return whether a word of a mount source identifies nothing."""
    low = word.casefold()
    plain = low in PLAIN_PARTS or low in NO_NAMES or low in FILE_SYSTEMS or low in own
    return (
        plain
        or len(word) < 2
        or not re.search(r"[^\W\d_]", word)
        or bool(DEVICE.fullmatch(word) or NETWORK.fullmatch(word))
    )


def _sites(profile: ProfileRecord) -> Iterator[str]:
    """Yield the sites that a preset names. They are public and stay."""
    sources: list[ProfileRecord | MemberRecord] = [profile, *profile.members]
    for text in (text for each in sources for text in (each.text or "", *each.source.values())):
        yield from (found[3].casefold() for found in URL.finditer(text))
        yield from (found[0].casefold() for found in DOMAIN.finditer(text))


def _learn_user(names: Names, user: object) -> None:
    if isinstance(user, str) and user and user != "root":
        names.give(user, "user")


def _redacted(names: Names, source: ReportedRun, number: int) -> ReportedRun:
    """Return one run with all names replaced, and without notes and tags.

    Its journal is later read only for histograms, which are merged over hosts.
    """
    record = source.record
    kept = (
        record.run_id
        if record.profile.preset and TAG_OF_OURS.fullmatch(record.run_id)
        else f"run-{number}"
    )
    left = record.model_copy(update={"run_id": kept, "notes": [], "tags": {}})
    names.kept.add(kept)
    if record.run_id != kept:
        names.known.setdefault(record.run_id.casefold(), kept)
        names._pattern = None
    data = _without_free_text(
        left.model_dump(mode="json", by_alias=True), own=record.profile.preset is not True
    )
    replacer = Replacer(names)
    # a first pass collects all names: late ones may occur in early texts
    _walk(data, replacer)
    view = source.published and _without_names(source.published, names)
    nameless = RunRecord.model_validate(_walk(data, replacer))
    history = [_redacted_history(names, each, record.run_id, kept) for each in source.history]
    return replace(source, record=nameless, published=view, called="", history=history)


def _redacted_history(names: Names, found: Trend, own: str, kept: str) -> Trend:
    """Return a history with run ids replaced by numbers.

    The run `own` has the same name as in the rest of the report.
    """
    runs = [
        msgspec.structs.replace(
            run, run_id=kept if run.run_id == own else f"run {place} of {len(found.runs)}"
        )
        for place, run in enumerate(found.runs, 1)
    ]
    profile, point = names.in_text(found.profile), names.in_text(found.point)
    return replace(found, profile=profile, point=point, target="", runs=tuple(runs))


def _without_names(view: PublishedView, names: Names) -> PublishedView:
    """Return published results with names replaced: the user's own may contain some."""
    rows = [msgspec.structs.replace(row, label=names.in_text(row.label)) for row in view.rows]
    notes = [msgspec.structs.replace(note, text=names.in_text(note.text)) for note in view.notes]
    return msgspec.structs.replace(
        view, tag=names.in_text(view.tag), rows=tuple(rows), notes=tuple(notes)
    )


def _without_free_text(data: dict[str, Any], *, own: bool) -> dict[str, Any]:
    """Return a record's data without comments and notes, and without facts that are names."""
    profile = data["profile"]
    for each in (*data["hosts"], *data["servers"]):
        each["facts"] = {
            name: value for name, value in each["facts"].items() if name not in OWN_FACTS
        }
        if each["files_left"]:
            each["files_left"].update(identities={}, directories={})
    if own:
        profile.update(title="", text=None, source={}, bases=[], extends=[])
        for member in profile["members"]:
            member.update(title="", text=None, source={}, extends=[])
    for each in profile["job_files"]:
        each["text"] = "\n".join(
            line for line in each["text"].splitlines() if not line.lstrip().startswith(("#", ";"))
        )
    return data


@dataclass
class Replacer:
    """Replaces known names in texts, and everything that looks like a name."""

    names: Names

    def text(self, text: str) -> str:
        """Return a text with names replaced."""
        found = WORLDWIDE.sub(self._as("id"), UUID.sub(self._as("id"), text))
        found = IPV4.sub(self._address, found)
        found = URL.sub(self._url, found)
        found = USER_AT.sub(lambda match: f"{self._user(match[1])}@", found)
        found = SHARE.sub(lambda match: f"//{self._host(match[1])}{self._below(match[2])}", found)
        found = EXPORT.sub(
            lambda match: IN_EXPORT.sub(lambda each: self._host(each[0]), match[0]), found
        )
        found = PATH.sub(lambda match: self._below(match[0]), found)
        found = MAYBE_IPV6.sub(self._address, MAC.sub(self._as("address"), found))
        found = DOMAIN.sub(self._domain, found)
        return self.names.in_text(found)

    def _as(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda match: self.names.give(match[0], kind)

    def _user(self, name: str) -> str:
        plain = name == "root" or self.names.may_stay(name)
        return name if plain else self.names.give(name, "user")

    def _host(self, name: str) -> str:
        low = name.casefold()
        plain = (
            len(name) < 2 or low in NO_NAMES or low in self.names.public or NETWORK.fullmatch(low)
        )
        if plain or self.names.may_stay(name) or name.startswith("127."):
            return name
        _learn_domains(self.names, name.split(".")[1:])
        return self.names.give(name, "server")

    def _url(self, match: re.Match[str]) -> str:
        """Return a URL with names replaced, without password and query.

        Sites of presets stay.
        """
        scheme, user, host, port, path = match.groups(default="")
        if host.casefold() in self.names.public:
            return match[0]
        login = f"{self._user(user)}@" if user else ""
        return f"{scheme}{login}{self._host(host)}{port}{self._below(path)}"

    def _address(self, match: re.Match[str]) -> str:
        """Return the replacement of an IP address.

        Loopback addresses stay, and versions and times of day, which only look like one.
        """
        text = match[0] if match[0].endswith("::") else match[0].rstrip(":")
        try:
            known = ip_address(text)
        except ValueError:
            return match[0]
        return (
            match[0]
            if known.is_loopback
            else self.names.give(text, "address") + match[0][len(text) :]
        )

    def _domain(self, match: re.Match[str]) -> str:
        """Return the replacement of a host name.

        Names of columns, files and options, which only look like one, stay.
        """
        first, last = match[0].partition(".")[0], match[1].lower()
        known = first.lower() in COLUMNS or last in {*KINDS, *self.names.tools} or first in CHECKS
        if match[0].casefold() in self.names.public or (known and last not in ENDINGS):
            return match[0]
        if last in ENDINGS:
            _learn_domains(self.names, match[0].split(".")[1:])
        return self.names.give(match[0], "server")

    def _below(self, path: str) -> str:
        """Return a path with its components replaced; system paths stay."""
        return path if SYSTEM.match(path) else PART.sub(self._part, path)

    def _part(self, match: re.Match[str]) -> str:
        part = match[0]
        ours = part.lower().lstrip(".") in PLAIN_PARTS or part in workloads.names()
        plain = ours or DEVICE.fullmatch(part) or part.isdigit() or "$" in part
        if plain or self.names.may_stay(part) or part.startswith(("benchtui-", ".benchtui")):
            return part
        return self.names.give_part(part)


def _walk(value: Any, replacer: Replacer, key: str = "") -> Any:
    """Return a document with its texts and the host names among its keys replaced.

    Words of the schema stay.
    """
    if isinstance(value, str):
        return value if key in WORDS_OF_OURS else replacer.text(value)
    if isinstance(value, list):
        return [_walk(each, replacer, key) for each in value] if _has_text(value) else value
    if isinstance(value, Mapping):
        named = key in BY_NAME
        keys = {name: replacer.names.in_text(name) if named else name for name in value}
        inner = {
            name: _walk(each, replacer, "jobs" if key == "per_job" else name)
            for name, each in value.items()
        }
        return {keys[name]: each for name, each in inner.items()}
    return value


def _has_text(values: Sequence[Any]) -> bool:
    """Return whether a list may contain text.

    Long series of numbers need not be searched.
    """
    return (
        not values
        or not isinstance(values[0], int | float | None)
        or any(isinstance(each, str | list | dict) for each in values)
    )
