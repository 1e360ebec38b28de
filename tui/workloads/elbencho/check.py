"""What elbencho's part of a profile must obey: option names and values, and how they go
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui.model.problem import Problem, UsageError
from tui.model.profile import Profile, expand, placeholders
from tui.model.yaml_text import KeyPath, YamlDocument
from tui.workloads.elbencho.body import Load, body_of, load_of
from tui.workloads.elbencho.options import option_problem

ONE_HOST = {"host": "h1", "host_index": "1", "next_index": "1"}


def problems(
    profile: Profile, document: YamlDocument, texts: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield what is wrong. `texts`: the parameters' defaults, of those that are right."""
    body, known = body_of(profile), {**texts, **ONE_HOST}
    wrong = False
    for name, value in body.options.items():
        if any(inner not in known for inner in placeholders(value)):
            wrong = True  # told already
        elif told := option_problem(name, expand(value, known)):
            wrong = True
            yield document.problem(("elbencho", "options", name), told, key=True)
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
    devices = [
        path for path in load.files if path.startswith("/dev/") and not path.startswith("/dev/shm/")
    ]
    if devices and not profile.allow_device:
        message = (
            f"file: {devices[0]} is a device; that needs 'allow_device: true', a device loses its"
            " data"
        )
        yield document.problem(("elbencho", "file"), message)
    yield from _headline(profile, document, load)
    if profile.prepare.precondition is not None:
        yield document.problem(
            ("prepare", "precondition"), "elbencho has no preconditioning", key=True
        )


def _headline(profile: Profile, document: YamlDocument, load: Load) -> Iterator[Problem]:
    """The direction of the headline is one that the phase reports."""
    headline = profile.headline_spec
    if headline is None:
        return
    known = [*load.directions, *(["mixed"] if load.reads and load.writes else [])]
    if headline.direction not in known:
        message = (
            f"direction: found {headline.direction}, phase {load.phase.name} reports"
            f" {', '.join(known)}"
        )
        yield document.problem(("headline", "direction"), message)


def hints(profile: Profile, texts: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield what a time limit does alone."""
    given = {
        name: expand(value, {**texts, **ONE_HOST})
        for name, value in body_of(profile).options.items()
    }
    if "timelimit" in given and given.get("infloop", "0") in ("0", "no", "off", "false"):
        path = ("elbencho", "options", "timelimit")
        yield path, "without infloop the phase ends with its files, and the limit only cuts it off"
