"""The fio job file of one host: the profile's options and those that the measurement requires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.metrics.buckets import PERCENTILES, label
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.model.profile import ParamValue, Profile

# Added to [global] unless the profile sets them, in [global] or in any job.
ADDED = {
    "group_reporting": "1",
    "lat_percentiles": "1",
    "percentile_list": ":".join(map(label, PERCENTILES)),
    "exitall_on_error": "1",
}
ADDED_COMMENT = "; added by benchtui"
OWN_SEED = "by-host"
_SEEDING = ("randseed", "randrepeat", "allrandrepeat")


def render(
    profile: Profile,
    params: Mapping[str, ParamValue],
    host: str,
    host_index: int,
    randseed: int | None,
) -> str:
    """Return the job file of one host; without a seed, as for display, if `randseed` is None.

    Raises UsageError if a name or value is not valid in a job file.
    """
    from tui.workloads.fio.body import resolve_options

    shared, jobs = resolve_options(profile, params, host, host_index)
    return render_options(shared, jobs, randseed)


def render_options(
    shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]], randseed: int | None
) -> str:
    """Return the job file of resolved options, in their order; added ones end their section."""
    lines = _section("global", shared, _added(shared, jobs, randseed))
    for name, own in jobs.items():
        lines += ["", *_section(_job_name(name), own, _grouping(shared, own, len(jobs)))]
    return "\n".join(lines) + "\n"


def added_options(
    shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Return the options that benchtui adds to the profile's, by name.

    The seed, which differs between hosts, is ``by-host``.
    """
    added = _added(shared, jobs, 0)
    added |= {"randseed": OWN_SEED} if "randseed" in added else {}
    return added | {
        name: value
        for own in jobs.values()
        for name, value in _grouping(shared, own, len(jobs)).items()
    }


def explicit_seed(shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]]) -> int | None:
    """Return the seed that the profile sets; None if unset or not a whole number."""
    value = next(
        (level["randseed"] for level in (shared, *jobs.values()) if "randseed" in level), None
    )
    return int(value) if value is not None and str(value).isdecimal() else None


def _added(
    shared: Mapping[str, str], jobs: Mapping[str, Mapping[str, str]], randseed: int | None
) -> dict[str, str]:
    """Return the options to add to [global]: one group, both kinds of latency, a seed per host."""
    present = set(shared).union(*jobs.values())
    added = {name: value for name, value in ADDED.items() if name not in present}
    if randseed is not None and not present.intersection(_SEEDING):
        # randseed alone changes nothing: fio <= 3.42 takes it for offsets only with randrepeat=0.
        added |= {"randrepeat": "0", "randseed": str(randseed)}
    return added


def _grouping(shared: Mapping[str, str], own: Mapping[str, str], count: int) -> dict[str, str]:
    """Return new_group if there are several jobs, so that fio reports each separately."""
    return {} if count == 1 or "new_group" in own or "new_group" in shared else {"new_group": "1"}


def _section(name: str, options: Mapping[str, str], added: Mapping[str, str]) -> list[str]:
    """Return the lines of a section; options that are not from the profile follow a comment."""
    ours = [ADDED_COMMENT, *_lines(name, added)] if added else []
    return [f"[{name}]", *_lines(name, options), *ours]


def _lines(name: str, options: Mapping[str, str]) -> list[str]:
    return [
        f"{_key(name, option)}={_value(name, option, value)}" for option, value in options.items()
    ]


def _job_name(name: str) -> str:
    """Return a job's name, which fio also uses in file names. Raises UsageError if it is
    invalid.
    """
    if (
        not name
        or name.lower() == "global"
        or name != name.strip()
        or not name.isprintable()
        or set(name) & set("];#")
    ):
        raise UsageError(
            f"job name {name!r}: must be printable text without ']', ';' or '#', and not 'global'"
        )
    return name


def _key(job: str, option: str) -> str:
    if (
        not option
        or not option.isprintable()
        or "=" in option
        or option != option.strip()
        or option[0] in ";#["
    ):
        raise UsageError(f"job {job}: {option!r} is not an option name")
    return option


def _value(job: str, option: str, value: str) -> str:
    """Return an option's value. Raises UsageError for values a job file cannot express.

    fio cannot escape line breaks, and ignores everything after ; or # (parse.c).
    """
    text = str(value)
    if not text.isprintable():
        raise UsageError(
            f"job {job}: {option}={text!r}: line breaks and control characters are not allowed"
        )
    if ";" in text or "#" in text:
        raise UsageError(
            f"job {job}: {option}={text}: fio ignores everything after ';' or '#', which"
            " cannot be escaped"
        )
    return text.strip() or "1"  # an option without a value is a flag that is set
