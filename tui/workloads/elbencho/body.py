"""The elbencho section of a profile, and the load that it resolves to on a host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from pydantic import Field

from tui.model.plan import is_device
from tui.model.problem import Problem, UsageError
from tui.model.profile import (
    ParamValue,
    Profile,
    Scalar,
    Strict,
    expand,
    host_params,
    placeholders,
    safe_host,
    value_text,
)
from tui.model.quantities import parse_size
from tui.model.yaml_text import KeyPath, YamlDocument
from tui.workloads.elbencho import options
from tui.workloads.elbencho.options import OBJECT_PHASES, PHASES, Phase, PhaseName, option_problem
from tui.workloads.elbencho.store import Store, store_problem

DEFAULT_BLOCK = 1 << 20


class Elbencho(Strict):
    """One phase of elbencho, with elbencho's own long option names."""

    phase: PhaseName = Field(description="Measured phase; write with rwmixpct also reads")
    directory: Scalar | None = Field(
        None,
        description=(
            "Directory mode: directory in which each thread has its own directories and files"
            " (rN/dM/rN-fK)"
        ),
    )
    file: Scalar | list[Scalar] | None = Field(
        None,
        description=(
            "File mode: files or block devices used by all threads of a host; may contain {host}"
        ),
    )
    bucket: Scalar | None = Field(
        None, description="S3 mode: bucket in which each thread has its own objects"
    )
    endpoint: Scalar | None = Field(None, description="S3 service host and port, without https://")
    https: Scalar = Field(
        "off", description="off: HTTP; insecure: HTTPS, where elbencho accepts any certificate"
    )
    region: Scalar = Field("us-east-1", description="Region for signing requests")
    prefix: Scalar = Field("", description="Prefix of all object names; may contain {host}")
    key_id: Scalar | None = Field(None, description="Access key ID, a parameter of kind secret")
    key: Scalar | None = Field(None, description="Secret access key, a parameter of kind secret")
    token: Scalar | None = Field(None, description="Session token, a parameter of kind secret")
    options: dict[str, Scalar] = Field(
        default_factory=dict,
        description="elbencho options by their long names without dashes, such as threads: 8",
    )


class Load(Struct, frozen=True):
    """Load on one host.

    Sizes are in bytes; `texts` are the options in elbencho's syntax, in order.
    """

    phase: Phase
    directory: str
    files: tuple[str, ...]
    texts: Mapping[str, str]
    store: Store | None = None

    def count(self, name: str, default: int) -> int:
        """Return a numeric option; the default if it is not set."""
        return int(self.texts.get(name, default))

    def size(self, name: str, default: int = 0) -> int:
        """Return a size option in bytes; the default if it is not set."""
        return parse_size(self.texts[name]) if name in self.texts else default

    def flag(self, name: str) -> bool:
        """Return whether a flag is set."""
        return name in self.texts

    @property
    def threads(self) -> int:
        """Number of I/O threads."""
        return self.count("threads", 1)

    @property
    def depth(self) -> int:
        """Number of I/Os in flight per thread."""
        return self.count("iodepth", 1)

    @property
    def block(self) -> int:
        """Size of the largest I/O in bytes: the block size, or the file size if that is smaller."""
        block = self.size("block", DEFAULT_BLOCK)
        return min(block, self.size("size") or block)

    @property
    def even_block(self) -> int | None:
        """Size of every I/O in bytes; None if the last I/O of a file is shorter."""
        size = self.size("size")
        return self.block if size and size % self.block == 0 else None

    @property
    def pass_bytes(self) -> int:
        """Bytes that a thread moves in one pass over its files."""
        if self.files:
            amount = self.size("randamount") if self.flag("rand") else 0
            return (amount or self.size("size") * len(self.files)) // self.threads
        return max(self.count("dirs", 1), 1) * self.count("files", 1) * self.size("size")

    @property
    def mixed(self) -> int:
        """Percentage of reads in a write phase."""
        return self.count("rwmixpct", 0)

    @property
    def seconds(self) -> int | None:
        """Duration in seconds; None if the load ends with its files."""
        limit = self.count("timelimit", 0)
        return limit if limit and self.flag("infloop") else None

    @property
    def reads(self) -> bool:
        """Whether the load reads data."""
        return self.phase.name == "read" or (self.phase.name == "write" and self.mixed > 0)

    @property
    def writes(self) -> bool:
        """Whether the load writes data."""
        return self.phase.name == "write" and self.mixed < 100

    @property
    def directions(self) -> list[str]:
        """Directions that the load reports."""
        if not self.phase.makes_ios:
            return [self.phase.direction]
        ios = [name for name, does in (("read", self.reads), ("write", self.writes)) if does]
        if not self.size("size"):
            ios = []
        return [*ios, *([self.phase.files] if self.directory or self.store else [])]


def body_of(profile: Profile) -> Elbencho:
    """Return the elbencho section of a profile. Raises UsageError if there is none."""
    if not isinstance(profile.body, Elbencho):
        raise UsageError(f"{profile.profile} has no elbencho: section")
    return profile.body


def resolve(
    profile: Profile, params: Mapping[str, ParamValue], host: str, host_index: int, hosts: int
) -> Load:
    """Return the load of one host; `host_index` counts from 1.

    Raises UsageError with all problems.
    """
    own = host_params(profile, params, host_index, hosts)
    texts = {name: value_text(profile.params[name].kind, value) for name, value in own.items()}
    texts |= {
        "host": safe_host(host),
        "host_index": str(host_index),
        "next_index": str(host_index % hosts + 1),
    }
    return load_of(profile, texts)


def load_of(profile: Profile, texts: Mapping[str, str]) -> Load:
    """Return the load with all placeholders replaced. Raises UsageError."""
    body = body_of(profile)
    given = {name: expand(value, texts) for name, value in body.options.items()}
    wrong = [why for name, text in given.items() if (why := options.option_problem(name, text))]
    if wrong:
        raise UsageError([Problem(f"{profile.profile}: elbencho.options: {why}") for why in wrong])
    values = {name: options.value_text(name, text) for name, text in given.items()}
    files = body.file if isinstance(body.file, list) else [] if body.file is None else [body.file]
    if why := phase_problem(body.phase, objects=body.bucket is not None):
        raise UsageError(f"{profile.profile}: elbencho: {why}")
    load = Load(
        (PHASES if body.bucket is None else OBJECT_PHASES)[body.phase],
        expand(body.directory, texts) if body.directory is not None else "",
        tuple(expand(each, texts) for each in files),
        {name: text for name, text in values.items() if text is not None},
        store_of(body, texts),
    )
    if why := problem_of(load):
        raise UsageError(f"{profile.profile}: elbencho: {why}")
    return load


def store_of(body: Elbencho, texts: Mapping[str, str]) -> Store | None:
    """Return the bucket with all placeholders replaced; None if the profile uses files."""
    if body.bucket is None:
        return None
    given = (body.endpoint, body.https, body.bucket, body.region, body.prefix)
    keys = (body.key_id, body.key, body.token)
    return Store(
        *("" if value is None else expand(value, texts) for value in given),
        *("" if value is None else expand(value, texts) for value in keys),
    )


def phase_problem(name: PhaseName, *, objects: bool) -> str:
    """Return why a phase is not available for files, or for objects; empty if it is."""
    if name in (known := OBJECT_PHASES if objects else PHASES):
        return ""
    what = "objects in a bucket" if objects else "files"
    return f"phase {name} does not apply to {what}; expected {', '.join(known)}"


def problem_of(load: Load) -> str:
    """Return a problem with combined options; empty if there is none."""
    rules = (problem_of_store, _time, _mix) if load.store else (_places, _sizes, _time, _mix)
    for rule in rules:
        if why := rule(load):
            return why
    return ""


def problem_of_store(load: Load) -> str:
    """Return a problem with a load on objects; empty if there is none."""
    assert load.store is not None
    if load.directory or load.files:
        return "'bucket' cannot be used with 'directory' or 'file'"
    for name in load.texts:
        if name in options.OF_FILES:
            return f"options.{name} applies to files only; 'bucket' works on objects"
    if load.phase.makes_ios and not load.size("size"):
        return "options.size is required: the size of each object"
    if load.flag("rand") and load.phase.name != "read":
        return "options.rand is only for phase read: it reads parts of objects at random offsets"
    return store_problem(load.store)


def _places(load: Load) -> str:
    if bool(load.directory) == bool(load.files):
        return "exactly one of 'directory', 'file' and 'bucket' is required"
    bad = [path for path in (load.directory, *load.files) if path and not path.startswith("/")]
    if bad:
        return f"'{bad[0]}': expected an absolute path"
    of_store = [name for name in load.texts if name.startswith("s3")]
    if of_store:
        return f"options.{of_store[0]} is for objects: set 'bucket'"
    if load.files and load.phase.name in ("mkdirs", "rmdirs", "stat"):
        return f"phase {load.phase.name} requires 'directory'"
    return ""


def _sizes(load: Load) -> str:
    if load.files and load.phase.makes_ios and not load.size("size"):
        return "options.size is required: the bytes of each file to read or write"
    if load.flag("direct") and load.phase.makes_ios and load.block % 512:
        return f"options.block: direct I/O requires a multiple of 512 bytes; found {load.block}"
    if load.files and load.phase.makes_ios:
        blocks = load.size("size") // load.block * len(load.files)
        if blocks < load.threads:
            return (
                f"options.threads: {load.threads} threads need a block each, but the files have"
                f" {blocks} blocks of {load.block} bytes"
            )
    if load.directory and load.phase.makes_ios and load.flag("rand") and not load.size("size"):
        return "options.size is required for random offsets"
    return ""


def _time(load: Load) -> str:
    if load.flag("infloop") and not load.count("timelimit", 0):
        return "options.infloop requires timelimit: without one, the load never ends"
    if load.flag("infloop") and not load.phase.makes_ios and load.phase.name != "stat":
        return f"options.infloop: phase {load.phase.name} can run only once"
    return ""


def _mix(load: Load) -> str:
    if load.mixed and load.phase.name != "write":
        return "options.rwmixpct is only for phase write"
    if load.phase.name == "read" and load.flag("limitwrite"):
        return "options.limitwrite has no effect on phase read; use limitread"
    if load.phase.name == "write" and load.flag("limitread"):
        return (
            "options.limitread has no effect on phase write; use limitwrite, which limits"
            " both in a mix"
        )
    return ""


def with_options(profile: Profile, changed: Mapping[str, Scalar | None]) -> Profile:
    """Return the profile with these options set, or removed if the value is None."""
    body = body_of(profile)
    found = {
        name: value for name, value in {**body.options, **changed}.items() if value is not None
    }
    return profile.model_copy(update={profile.tool: body.model_copy(update={"options": found})})


# -- problems and hints of a profile


ONE_HOST = {"host": "h1", "host_index": "1", "next_index": "1"}


def problems(
    profile: Profile, document: YamlDocument, texts: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield problems in the elbencho section.

    `texts`: defaults of the valid parameters.
    """
    body, known = body_of(profile), {**texts, **ONE_HOST}
    wrong = False
    for name, value in body.options.items():
        if any(inner not in known for inner in placeholders(value)):
            wrong = True  # reported elsewhere
        elif why := option_problem(name, expand(value, known)):
            wrong = True
            yield document.problem(("elbencho", "options", name), why, key=True)
    if not wrong:
        yield from _together(profile, document, known)


def _together(
    profile: Profile, document: YamlDocument, texts: Mapping[str, str]
) -> Iterator[Problem]:
    try:
        load = load_of(profile, texts)
    except UsageError as error:
        for each in error.problems:
            yield document.problem(
                ("elbencho",), each.message.removeprefix(f"{profile.profile}: "), key=True
            )
        return
    devices = list(filter(is_device, load.files))
    if devices and not profile.allow_device:
        message = (
            f"file: {devices[0]} is a device; this requires 'allow_device: true',"
            " because the run overwrites the device"
        )
        yield document.problem(("elbencho", "file"), message)
    yield from _headline(profile, document, load)
    yield from _prepared(profile, document, load)


def _prepared(profile: Profile, document: YamlDocument, load: Load) -> Iterator[Problem]:
    """Yield problems with `prepare`: files need a layout, objects need a fill."""
    if load.store is not None and profile.prepare.layout:
        message = (
            "layout is for files; to write the objects first, set"
            " 'precondition: {fill: 1, rounds: 0}'"
        )
        yield document.problem(("prepare", "layout"), message, key=True)
    if load.store is None and profile.prepare.precondition is not None:
        yield document.problem(
            ("prepare", "precondition"), "elbencho cannot precondition files", key=True
        )


def _headline(profile: Profile, document: YamlDocument, load: Load) -> Iterator[Problem]:
    """Yield a problem if the phase does not report the headline's direction."""
    headline = profile.headline_spec
    if headline is None:
        return
    known = [*load.directions, *(["mixed"] if load.reads and load.writes else [])]
    if headline.direction not in known:
        message = (
            f"direction: found {headline.direction}, but phase {load.phase.name} reports"
            f" {', '.join(known)}"
        )
        yield document.problem(("headline", "direction"), message)


def hints(profile: Profile, texts: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield a hint if a time limit without infloop only ends the phase early."""
    given = {
        name: expand(value, {**texts, **ONE_HOST})
        for name, value in body_of(profile).options.items()
    }
    if "timelimit" in given and given.get("infloop", "0") in ("0", "no", "off", "false"):
        path = ("elbencho", "options", "timelimit")
        yield (
            path,
            (
                "without infloop the phase ends after one pass over its files; the limit only"
                " shortens it"
            ),
        )
