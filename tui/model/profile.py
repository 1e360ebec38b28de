"""A profile: the model of its file, and its resolved parameters.

Pure; `profile_load` loads the file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tui.model.criteria import known, known_criterion
from tui.model.plain import NAME_PATTERN, SECRET_PATTERN, TAG_PATTERN
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.profile_parts import (
    AttestSpec,
    CapacitySpec,
    CurveSpec,
    PreconditionSpec,
    RepeatSpec,
    SuiteEntry,
    SuiteMember,
    SweepSpec,
    Together,
)
from tui.model.quantities import parse_duration, parse_size, plain_duration, plain_size, shown
from tui.model.roles import FORMS as ROLE_FORMS
from tui.model.roles import parse_role

ParamValue = str | int | float | bool
Number = TypeVar("Number", int, float)
ParamKind = Literal[
    "directory", "path", "device", "duration", "size", "count", "number", "text", "flag", "choice",
    "secret"
]  # fmt: skip
TOOL = "Load generator; suite: several profiles in sequence"
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
HOST_PLACEHOLDERS = ("host", "host_index", "next_index")
PATH_KINDS = ("directory", "path", "device")
WORDS_TRUE, WORDS_FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
FLAG_FORMS = "expected yes, no, true, false, on, off, 1, 0"


def _off_is_no(value: object) -> object:
    """Convert False to 'no', because YAML reads a bare `no` as false."""
    return "no" if value is False else value


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Scalar = str | bool | int | float
Text = Annotated[str, BeforeValidator(_as_text)]


class Strict(BaseModel):
    """Base of models in which unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ProfileSource(Strict):
    """Publication of a workload."""

    document: Text = Field(description="Document title")
    section: Text | None = Field(None, description="Section or table")
    url: Text | None = Field(None, description="Address")
    date: Text | None = Field(None, description="Date of publication or measurement")


class Param(Strict):
    """A parameter, which can be changed at launch (--set, Review) or in a user's own profile."""

    default: Scalar = Field(description="Value unless changed at launch")
    kind: ParamKind = Field(description="Value type")
    help: Text = Field("", description="Help text, one line")
    choices: list[Scalar] | None = Field(None, description="Allowed values (kind: choice)")
    min: Scalar | None = Field(None, description="Smallest allowed value")
    max: Scalar | None = Field(None, description="Largest allowed value")
    spread: bool = Field(
        False,
        description=(
            "For counts: the value is the total over all hosts; each host gets a share, and"
            " hosts without one stay idle"
        ),
    )


class Prepare(Strict):
    """Preparation before and cleanup after the measurement."""

    layout: bool | str = Field(
        False,
        description=(
            "Lay out the test files before measuring; may name a flag parameter: '{layout}'"
        ),
    )
    cleanup: bool = Field(False, description="After the run, remove the files it created")
    precondition: PreconditionSpec | None = Field(
        None,
        description=(
            "Fill the files, then run the load in rounds until it is steady; {}: SNIA defaults"
        ),
    )


class HeadlineSpec(Strict):
    """The profile's headline figure."""

    metric: Literal["iops", "bandwidth", "latency", "ops", "score"] = Field(
        description=(
            "Metric; ops: file operations, such as creates; score: the benchmark's own score"
        )
    )
    direction: Literal[
        "read", "write", "trim", "sync", "mixed", "both", "create", "stat", "remove",
        "mkdirs", "rmfiles", "rmdirs", "write-files", "read-files",
        "head", "mkbuckets", "rmbuckets", "write-objects", "read-objects",
        "total", "bandwidth", "metadata",
    ] = Field(description="Direction; for ops, the operation; for score, its name")  # fmt: skip
    percentile: float | None = Field(
        None, ge=0, le=100, description="For latency: the percentile; absent: the mean"
    )


class HostsSpec(Strict):
    """Number of clients that a profile is designed for."""

    published: int | None = Field(None, ge=1, description="Client count in the published run")


class Deviation(Strict):
    """A deviation from the source, or a choice that the source leaves open, with the reason."""

    what: Text = Field(description="Parameter or option")
    kind: Literal["defaulted", "reconstructed", "deviation"] = Field(
        description="Kind of difference"
    )
    why: Text = Field(description="The reason")


class Profile(Strict):
    """A benchmark profile.

    `profile_model.whole` adds a field for each load generator, by its name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    profile: str = Field(
        pattern=TAG_PATTERN, description="Profile name, used in all runs: family/name"
    )
    version: int = Field(1, ge=1, description="Incremented when the meaning of the profile changes")
    title: Text = Field(description="What the profile measures, in one line")
    description: Text | None = Field(None, description="Longer description")
    source: ProfileSource | None = Field(None, description="Where the workload was published")
    extends: str | None = Field(
        None,
        description=("Name of the profile to extend: absent keys are inherited"),
    )
    tool: str = Field(description=TOOL)
    params: dict[Annotated[str, Field(pattern=NAME_PATTERN)], Param] = Field(
        default_factory=dict, description="Parameters that can be changed at launch"
    )
    suite: list[SuiteEntry] | None = Field(
        None,
        min_length=1,
        description=(
            "Profiles in order (tool: suite), by tag, as {profile: ..., set: {...}, role: ...}, or"
            " together"
        ),
    )
    roles: dict[
        Annotated[str, Field(pattern=NAME_PATTERN)], Annotated[Text, AfterValidator(parse_role)]
    ] = Field(
        default_factory=dict, description=f"Hosts of a suite's profiles, by role: {ROLE_FORMS}"
    )
    sweep: SweepSpec | None = Field(
        None, description="Parameter values to measure one after the other"
    )
    repeat: Annotated[int, Field(ge=1, le=1000)] | RepeatSpec = Field(
        1, description="Repetitions per point: a number, or {until: 5%, max: 10}"
    )
    capacity: CapacitySpec | None = Field(
        None,
        description=(
            "Search for the highest load within limits; each step is a point of the search"
        ),
    )
    curve: CurveSpec | None = Field(
        None, description="Measure latency vs. load, with run --curve or always"
    )
    warmup: Scalar | None = Field(
        None,
        description=(
            "Ramp-up time of the same load, not measured, before each point; may name a"
            " parameter: '{warmup}'"
        ),
    )
    pause: Scalar | None = Field(
        None, description="Idle time between measurements; may be a parameter"
    )
    prepare: Prepare = Field(
        default_factory=lambda: Prepare(layout=False, cleanup=False, precondition=None),
        description="Preparation before and cleanup after the measurement",
    )
    drop_caches: Annotated[Literal["no", "try", "require"], BeforeValidator(_off_is_no)] = Field(
        "no", description="Drop the hosts' page caches before each measurement"
    )
    attest: list[AttestSpec] = Field(
        default_factory=list,
        description="Conditions that benchtui cannot check: asked at launch, saved with the result",
    )
    findings: dict[
        Annotated[str, AfterValidator(known)], Annotated[float, Field(ge=0, allow_inf_nan=False)]
    ] = Field(
        default_factory=dict,
        description="Thresholds of checks to change, by name: {straggler.rate: 0.7}",
    )
    thresholds: list[Annotated[str, AfterValidator(known_criterion)]] = Field(
        default_factory=list,
        description=(
            "Conditions that fail a run: 'read.p99 > 2ms', or relative to another run 'iops < -5%'"
        ),
    )
    headline_spec: HeadlineSpec | None = Field(
        None,
        alias="headline",
        description="Headline figure; not for a suite",
    )
    latency: Literal["clat", "lat"] = Field(
        "clat",
        description=(
            "Latency to show: clat from submission, lat including submission; absent: clat,"
            " or lat for engines that queue buffered I/O, where clat hides the wait"
        ),
    )
    on_host_loss: Literal["continue", "stop"] = Field(
        "continue", description="Reaction to a lost host: continue without it, or stop"
    )
    allow_device: bool = Field(False, description="Whether the target may be a block device")
    hosts: HostsSpec = Field(
        default_factory=lambda: HostsSpec(published=None),
        description="Number of clients the profile is designed for",
    )
    deviations: list[Deviation] = Field(
        default_factory=list, description="Differences from the source, with reasons"
    )

    @property
    def body(self) -> Any:
        """The section of the profile's tool, as that tool's model; None if it is absent."""
        return getattr(self, self.tool, None)

    @property
    def headline(self) -> HeadlineSpec:
        """Headline of the profile.

        Raises ValueError for a suite, whose members have the headlines.
        """
        if self.headline_spec is None:
            raise ValueError(f"{self.profile} has no headline")
        return self.headline_spec

    @property
    def stages(self) -> list[list[SuiteMember]]:
        """Profiles of a suite in order, grouped by those that run at the same time; empty for other
        profiles.
        """
        return [_stage(each) for each in self.suite or []]

    @property
    def members(self) -> list[SuiteMember]:
        """Profiles of a suite in order; empty for other profiles."""
        return [member for stage in self.stages for member in stage]


def _stage(entry: SuiteEntry) -> list[SuiteMember]:
    if isinstance(entry, Together):
        return list(entry.together)
    return [SuiteMember(profile=entry) if isinstance(entry, str) else entry]


def parse_param(param: Param, value: object) -> ParamValue:
    """Parse a parameter's value: bytes for a size, seconds for a duration.

    Raises ValueError with the allowed values.
    """
    result = _parse_kind(param, value)
    if (
        param.choices is not None
        and result not in param.choices
        and str(result) not in map(str, param.choices)
    ):
        raise ValueError(
            f"{shown(value)} is not allowed; expected one of {', '.join(map(str, param.choices))}"
        )
    _check_limits(param, value, result)
    return result


def resolve_params(profile: Profile, overrides: Mapping[str, str]) -> dict[str, ParamValue]:
    """Return the values of all parameters.

    Raises UsageError with all unknown names and invalid values.
    """
    problems = [
        Problem(_unknown_param(profile, name)) for name in overrides if name not in profile.params
    ]
    values: dict[str, ParamValue] = {}
    for name, param in profile.params.items():
        given = overrides.get(name, param.default)
        try:
            values[name] = parse_param(param, given)
        except ValueError as error:
            problems.append(Problem(f"parameter '{name}': {error}"))
    if problems:
        raise UsageError(problems)
    return values


def wants_layout(profile: Profile, params: Mapping[str, ParamValue]) -> bool:
    """Return whether files are laid out first.

    The profile may set this by a parameter: ``layout: "{layout}"``.
    """
    layout = profile.prepare.layout
    if isinstance(layout, str):
        value = params.get(layout.strip().strip("{}"), layout)
        return str(value).lower() in WORDS_TRUE
    return bool(layout)


def host_params(
    profile: Profile, params: Mapping[str, ParamValue], host_index: int, hosts: int
) -> dict[str, ParamValue]:
    """Return the parameters of one host: totals that are spread become the host's share."""
    return {
        name: share(int(value), host_index, hosts) if profile.params[name].spread else value
        for name, value in params.items()
    }


def share(total: int, index: int, of: int) -> int:
    """Return share `index` (from 1) of a total split into `of` parts; the first ones get the
    remainder.
    """
    return total // of + (1 if index <= total % of else 0)


def has_share(
    profile: Profile, params: Mapping[str, ParamValue], host_index: int, hosts: int
) -> bool:
    """Return whether a host gets a share of every total that is spread over hosts; otherwise it is
    idle.
    """
    own = host_params(profile, params, host_index, hosts)
    return all(own[name] for name, param in profile.params.items() if param.spread)


def puts_first(profile: Profile) -> bool:
    """Return whether a profile puts its objects before they are measured."""
    return profile.prepare.precondition is not None and profile.prepare.precondition.fill > 0


def value_text(kind: ParamKind, value: ParamValue) -> str:
    """Return a parameter value in a load generator's syntax: no fractional sizes, a single unit."""
    if kind == "size" and isinstance(value, int):
        return plain_size(value)
    if kind == "duration" and isinstance(value, int | float):
        return plain_duration(value)
    return scalar_text(value)


def scalar_text(value: Scalar | None) -> str:
    """Return a YAML scalar as text: booleans as 1 and 0, an option without a value as ""."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def placeholders(value: object) -> list[str]:
    """Return the names in braces in the value of an option."""
    return (
        [m[1] for m in PLACEHOLDER.finditer(value) if m[1] is not None]
        if isinstance(value, str)
        else []
    )


def expand(value: Scalar | None, values: Mapping[str, str]) -> str:
    """Return a value with its placeholders replaced, except unknown ones; ``{{`` is a brace."""

    def one(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else values.get(match[1], match[0])

    return PLACEHOLDER.sub(one, value) if isinstance(value, str) else scalar_text(value)


def safe_host(name: str) -> str:
    """Return a host's name made safe for use in a path or option."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) or "_"


def _parse_kind(param: Param, value: object) -> ParamValue:
    kind = param.kind
    if kind == "size":
        return _positive(parse_size(value), value)
    if kind == "duration":
        return _positive(parse_duration(value), value)
    if kind == "count":
        return _whole(value)
    if kind == "number":
        return _number(value)
    if kind == "flag":
        return _flag(value)
    if kind == "choice":
        return value if isinstance(value, bool | int | float) else _line(value)
    if kind == "secret":
        return _reference(value)
    return _path(value, kind) if kind in PATH_KINDS else _line(value)


def _reference(value: object) -> str:
    """Return a reference to a secret.

    Raises ValueError, without repeating the value, which may be the secret itself.
    """
    if not isinstance(value, str) or not re.fullmatch(SECRET_PATTERN, value):
        raise ValueError("a secret must be a reference to an environment variable: ${NAME}")
    return value


def _positive(number: Number, value: object) -> Number:
    if number <= 0:
        raise ValueError(f"{shown(value)} is not allowed; must be greater than 0")
    return number


def _whole(value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", text) or int(text) < 1:
        raise ValueError(f"{shown(value)} is not a count; expected a whole number of 1 or more")
    return int(text)


def _number(value: object) -> int | float:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = float(value)
        if number != number or abs(number) == float("inf"):
            raise ValueError
    except ValueError:
        raise ValueError(f"{shown(value)} is not a number") from None
    return int(number) if number == int(number) else number


def _flag(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in WORDS_TRUE + WORDS_FALSE:
        raise ValueError(f"{shown(value)} is not a flag; {FLAG_FORMS}")
    return word in WORDS_TRUE


def _line(value: object) -> str:
    text = scalar_text(value) if isinstance(value, str | int | float | bool) else ""
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError(
            f"{shown(value)} is not allowed; expected one printable line without leading or"
            " trailing spaces"
        )
    return text


def _path(value: object, kind: ParamKind) -> str:
    text = _line(value)
    if not text.startswith("/"):
        raise ValueError(f"{shown(value)} is not an absolute path; it must begin with /")
    if bad := set(text) & set("#;$`\\"):
        raise ValueError(
            f"{shown(value)} contains characters that are not allowed in a path:"
            f" {' '.join(sorted(bad))}"
        )
    path = posixpath.normpath(text).replace("//", "/")
    if kind == "device" and not path.startswith("/dev/"):
        raise ValueError(f"{shown(value)} is not a device; it must begin with /dev/")
    return path


def parse_limit(kind: ParamKind, limit: Scalar) -> float:
    """Parse a `min` or `max` into the parameter's unit. Raises ValueError."""
    parsers: dict[str, Callable[[object], float]] = {"size": parse_size, "duration": parse_duration}
    return parsers.get(kind, _number)(limit)


def _check_limits(param: Param, value: object, result: ParamValue) -> None:
    for limit, word, beyond in ((param.min, "at least", -1), (param.max, "at most", 1)):
        if limit is None or isinstance(result, str):
            continue
        if (result - parse_limit(param.kind, limit)) * beyond > 0:
            raise ValueError(f"{shown(value)} is not allowed; expected {word} {limit}")


def _unknown_param(profile: Profile, name: str) -> str:
    known = ", ".join(profile.params) or "none"
    return (
        f"unknown parameter '{name}'{did_you_mean(name, profile.params)}; {profile.profile} has:"
        f" {known}"
    )
