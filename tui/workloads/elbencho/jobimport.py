"""Import elbencho command lines: one profile per phase, and a suite that runs them in elbencho's
order.

Every phase becomes a step, so that all hosts begin it together, as they do with elbencho's service
mode.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct, field

from tui.model.plan import is_device
from tui.model.problem import Problem, UsageError
from tui.model.profile import Param, ParamKind, parse_param
from tui.model.yaml_text import number_or_scalar, scalar
from tui.workloads.base import Imported, checked_tag, param_text
from tui.workloads.elbencho.options import (
    ELSEWHERE,
    OBJECT_PHASES,
    OF_FILES,
    OPTIONS,
    PHASE_OPTIONS,
    PHASES,
    REFUSED,
    SHORT,
    STORE,
    UNKNOWN_FILES,
    Phase,
    option_problem,
)

# Options without a value that are set elsewhere.
BARE = frozenset(
    (*PHASE_OPTIONS, "lat", "lathisto", "lathistogrpd", "latpercent", "livecsvex", "live1",
        "live1n", "nolive",
     "nocsvlabels", "allelapsed", "cpu", "dirstats", "base10", "sync", "dropcache", "dryrun",
     "nopathexp", "nodelerr",
     "service", "foreground", "quit", "interrupt", "nosvcshare", "netbench", "svcelapsed",
     "svcping", "dirsharing",
     "no0usecerr", "hdfs", "treerand", "treeroundrob", "help", "version")
)  # fmt: skip
PARAMS: dict[str, tuple[ParamKind, str]] = {
    "threads": ("count", "I/O threads on each host"),
    "dirs": ("count", "Directories per thread"),
    "files": ("count", "Files in each directory of a thread"),
    "size": ("size", "Size of each file"),
    "block": ("size", "Size of each I/O"),
    "iodepth": ("count", "I/Os in flight per thread"),
    "timelimit": ("duration", "Measured time"),
}
PROMPT = " \t$>#%"  # what people copy along with a command
DIRECTORY = ("directory", "Directory on the file system under test")
FATAL = ("service", "foreground", "quit", "interrupt", "netbench", "configfile", "treefile",
    "treescan", "hdfs",
         "rwmixthr", "rwmixthrpct", "dirsharing")  # fmt: skip
MOST_PATHS = 1000
SCHEME = "s3://"
KEYS = ("s3key", "s3secret", "s3sessiontoken", "s3credfile", "s3credlist")
URL = re.compile(r"(?:(https?)://)?([^/,\s]+)/?")
SECRETS = {
    "key_id": ("${AWS_ACCESS_KEY_ID}", "Access key ID"),
    "key": ("${AWS_SECRET_ACCESS_KEY}", "Secret access key"),
}


class _Command(Struct):
    """One command line, with options in order; flags have an empty text."""

    line: int
    phases: list[Phase] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    drop_caches: bool = False
    store: dict[str, str] = field(default_factory=dict)  # where objects are

    @property
    def objects(self) -> bool:
        """Whether the command works on objects in a store."""
        return "s3endpoints" in self.store or any(path.startswith(SCHEME) for path in self.paths)


def import_job(text: str, file: str, tag: str | None = None) -> Imported:
    """Return the profiles of command lines.

    Raises UsageError with every option that a profile cannot express.
    """
    tag = checked_tag(tag, file)
    messages: list[Problem] = []
    commands = [_command(line, words, file, messages) for line, words in _command_lines(text, file)]
    if not commands:
        raise UsageError(Problem("no elbencho command found", file=file, line=1))
    _share_sizes(commands)
    steps = [(command, phase) for command in commands for phase in command.phases]
    _say_cut(commands, file, messages)
    _say_shared(commands, file, messages)
    origin = PurePath(file).name
    if len(steps) == 1:
        return Imported([(tag, _profile(tag, origin, *steps[0], file))], messages)
    members = [
        (f"{tag}-{number}", command, phase) for number, (command, phase) in enumerate(steps, 1)
    ]
    profiles = [
        (name, _profile(name, origin, command, phase, file)) for name, command, phase in members
    ]
    names = ", ".join(phase.name for _, phase in steps)
    messages.append(
        Problem(
            f"{len(steps)} phases, one profile each: {names}; {tag} runs them in order", file, 1
        )
    )
    return Imported(
        [(tag, _suite(tag, origin, [name for name, _ in profiles])), *profiles], messages
    )


def is_job(text: str) -> bool:
    """Return whether a text contains a line that runs elbencho."""
    return any(_runs(line) for line in text.splitlines())


def _runs(line: str) -> bool:
    program, *options = line.lstrip(PROMPT).split(maxsplit=2) or [""]
    given = bool(options) and options[0].startswith("-")
    return given and program.rpartition("/")[2] == "elbencho" and not line.lstrip().startswith("# ")


def _command_lines(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of each command with its line number; joins lines that end in a backslash."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        begin, line = number, lines[number]
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + " " + lines[number]
        number += 1
        if not _runs(line):
            continue
        try:
            words = shlex.split(line.lstrip(PROMPT), comments=True)
        except ValueError as error:
            raise UsageError(
                Problem(f"{error}: invalid shell syntax", file=file, line=begin + 1)
            ) from None
        yield begin + 1, words[1:]


def _command(line: int, words: Sequence[str], file: str, messages: list[Problem]) -> _Command:
    found, problems = _Command(line), list[str]()

    def say(text: str) -> None:
        messages.append(Problem(text, file, line))

    for name, value in _options(words, found, problems):
        _add_option(found, name, value, problems, say)
    if found.objects:
        _of_objects(found, problems, say)
    if not found.phases and not problems:
        problems.append(
            "no phase; expected one of --mkdirs, --write, --stat, --read, --delfiles, --deldirs"
        )
    if not found.paths and not problems:
        problems.append("no path; expected a directory, a file or a block device")
    found.paths = [each for path in found.paths for each in _expanded(path)]
    relative = [path for path in found.paths if not path.startswith("/")]
    if relative and not found.objects:
        problems.append(
            f"'{relative[0]}': expected an absolute path, because hosts do not share your"
            " current directory"
        )
    if problems:
        raise UsageError([Problem(text, file, line) for text in problems])
    known = OBJECT_PHASES if found.objects else PHASES
    found.phases.sort(key=lambda phase: list(known).index(phase.name))
    return found


def _of_objects(found: _Command, problems: list[str], say: Callable[[str], None]) -> None:
    """Adapt a command on objects: use phases on objects, and drop options that only apply to
    files.
    """
    by_option = {phase.option: phase for phase in OBJECT_PHASES.values()}
    found.phases = [by_option[phase.option] for phase in found.phases]
    problems += store_problems(found.store, found.paths)
    for name in [name for name in found.options if name in OF_FILES]:
        del found.options[name]
        say(f"--{name} is dropped: it applies to files only, and the command uses objects")
    if found.drop_caches:
        found.drop_caches = False
        say("--dropcache is dropped: objects bypass the hosts' page caches")
    if any(phase.name == "rmobjects" for phase in found.phases):
        say("'prepare: precondition' is set, so that objects exist before they are deleted")


def _expanded(path: str) -> list[str]:
    """Expand ranges in a path as elbencho does: ``f[1-3,7]`` gives four paths."""
    match = re.fullmatch(r"([^][]*)\[([0-9,-]+)\](.*)", path)
    if match is None:
        return [path]
    found: list[str] = []
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit()) or int(last) - int(first) >= MOST_PATHS:
            return [path]
        found += [
            f"{match[1]}{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)
        ]
    return [each for begin in found for each in _expanded(begin + match[3])]


def _options(
    words: Sequence[str], found: _Command, problems: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield each option's long name and value; add paths to the command."""
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if not word.startswith("-") or word == "-":
            if word in (">", ">>", "|", "||", "&&", ";", "&"):
                return
            found.paths.append(word)
            continue
        name, joined, value = _name_of(word)
        if not name:
            problems.append(f"unknown option '{word}'")
            continue
        if not joined and not _bare(name) and at < len(words):
            value, at = words[at], at + 1
        yield name, value


def _name_of(word: str) -> tuple[str, bool, str]:
    """Return an option's long name, whether a value is attached to the word, and that value."""
    if word.startswith("--"):
        name, joined, value = word[2:].partition("=")
        return name, bool(joined), value
    return SHORT.get(word[1:2], ""), len(word) > 2, word[2:]


def _bare(name: str) -> bool:
    return (
        name in BARE
        or OPTIONS.get(name) == "flag"
        or name not in (*OPTIONS, *ELSEWHERE, *UNKNOWN_FILES, *STORE, *REFUSED)
    )


def _add_option(
    found: _Command, name: str, value: str, problems: list[str], say: Callable[[str], None]
) -> None:
    """Add an option to the command, or a problem; `say` is called with messages about changes."""
    if name in PHASE_OPTIONS:
        found.phases.append(next(phase for phase in PHASES.values() if phase.option == name))
    elif name == "dropcache":
        found.drop_caches = True
        say("--dropcache becomes drop_caches: try, which drops page caches before each measurement")
    elif name in KEYS:  # the key is not repeated
        say(f"--{name} is dropped: keys come from environment variables")
    elif name in STORE:
        found.store[name] = value
    elif name in FATAL or name in UNKNOWN_FILES:
        problems.append(option_problem(name, value))
    elif name in ELSEWHERE:
        say(f"--{name} is dropped: {ELSEWHERE[name]}")
    elif why := option_problem(name, value or "1"):
        problems.append(why)
    else:
        found.options[name] = value


def _share_sizes(commands: Sequence[_Command]) -> None:
    """Copy the file size from the command that writes files to commands that only remove or stat
    them.
    """
    layout = ("threads", "dirs", "files")
    known = {}
    for command in commands:
        if "size" in command.options:
            known[tuple(command.options.get(name) for name in layout), *command.paths] = (
                command.options["size"]
            )
    for command in commands:
        key = (tuple(command.options.get(name) for name in layout), *command.paths)
        if "size" not in command.options and key in known:
            command.options["size"] = known[key]


def _say_cut(commands: Sequence[_Command], file: str, messages: list[Problem]) -> None:
    """Add messages about phases that elbencho would never run, because a time limit ends the phase
    before them.
    """
    for command in commands:
        timed = [phase for phase in command.phases if phase.name not in ("mkdirs", "rmdirs")]
        if "timelimit" in command.options and "infloop" in command.options and len(timed) > 1:
            never = ", ".join(phase.name for phase in timed[1:])
            text = (
                f"the time limit ends {timed[0].name}; elbencho would then skip {never},"
                " but the suite does not"
            )
            messages.append(Problem(text, file, command.line))


def _say_shared(commands: Sequence[_Command], file: str, messages: list[Problem]) -> None:
    """Add messages about files that all hosts share because file names do not differ by host."""
    for command in commands:
        if command.objects:
            continue
        if not ({"files", "dirs"} & set(command.options)) and not all(
            map(is_device, command.paths)
        ):
            text = (
                f"{command.paths[0]}: hosts that share this path use the same file; to give"
                f" each its own, put {{host}} into the name"
            )
            messages.append(Problem(text, file, command.line))
            return


# -- YAML


def _suite(tag: str, origin: str, members: Sequence[str]) -> str:
    lines = [
        *_head(tag, f"Imported from {origin}", "suite"),
        "suite:",
        *(f"  - {member}" for member in members),
    ]
    return "\n".join(lines) + "\n"


def _head(tag: str, title: str, tool: str) -> list[str]:
    return [
        f"profile: {tag}",
        "version: 1",
        f"title: {scalar(title)}",
        f"tool: {tool}",
        "",
    ]


def _profile(tag: str, origin: str, command: _Command, phase: Phase, file: str) -> str:
    """Return the YAML profile of one phase.

    Raises UsageError with the line of a command that cannot be planned.
    """
    params, place = _places(command, file)
    options: dict[str, str] = {}
    for name, value in _fitting(command, phase).items():
        if name in PARAMS and value != "0":
            kind, about = PARAMS[name]
            params[name] = Param(default=value, kind=kind, help=about)
            options[name] = f"{{{name}}}"
        else:
            options[name] = value or "true"
    lines = _head(tag, f"Imported from {origin}: {phase.name}", "elbencho")
    lines += [
        "params:",
        *(f"  {name}: {param_text(param)}" for name, param in params.items()),
        "",
        "elbencho:",
    ]
    lines += [f"  phase: {phase.name}", *place]
    lines += (
        ["  options:", *(f"    {name}: {number_or_scalar(text)}" for name, text in options.items())]
        if options
        else []
    )
    lines += [
        "",
        *(["drop_caches: try"] if command.drop_caches else []),
        *(put_first(phase) if command.objects else []),
        *_headline(command, phase),
    ]
    text = "\n".join(lines) + "\n"
    _check(text, file, command.line)
    return text


def _fitting(command: _Command, phase: Phase) -> dict[str, str]:
    """Return the options that apply to a phase; it would reject the others."""
    left_out = {"rwmixpct", "limitwrite"} if phase.name != "write" else {"limitread"}
    if phase.name != "read":
        left_out.add("limitread")
    if not phase.makes_ios:
        left_out |= {
            "infloop",
            "timelimit",
            "block",
            "iodepth",
            "direct",
            "rand",
            "limitread",
            "limitwrite",
            "rwmixpct",
        } - ({"block"} if command.objects else set())
    if command.objects and phase.name == "stat" and "timelimit" in command.options:
        left_out -= {"infloop", "timelimit"}
    return {name: value for name, value in command.options.items() if name not in left_out}


def _places(command: _Command, file: str) -> tuple[dict[str, Param], list[str]]:
    """Return the parameter and YAML lines of the target; -n or -N makes the path a directory."""
    if command.objects:
        return store_places(command.store, command.paths)
    if (
        "files" in command.options
        or "dirs" in command.options
        or any(not p.makes_ios for p in command.phases)
    ):
        if len(command.paths) > 1:
            message = f"found {len(command.paths)} directories; only one is supported"
            raise UsageError(Problem(message, file=file, line=command.line))
        kind, about = DIRECTORY
        return {kind: Param(default=command.paths[0], kind="directory", help=about)}, [
            '  directory: "{directory}"'
        ]
    if len(command.paths) == 1:
        param = Param(default=command.paths[0], kind="path", help="File or device under test")
        return {"file": param}, ['  file: "{file}"']
    return {}, ["  file:", *(f"    - {scalar(path)}" for path in command.paths)]


def _headline(command: _Command, phase: Phase) -> list[str]:
    lines = ["allow_device: true"] if any(map(is_device, command.paths)) else []
    if not phase.makes_ios or not command.options.get("size"):
        metric = "iops" if phase.direction == "trim" else "ops"
        direction = phase.files or phase.direction
        return [*lines, f"headline: {{metric: {metric}, direction: {direction}}}"]
    mixed = phase.name == "write" and command.options.get("rwmixpct", "0") not in ("0", "100")
    metric = "iops" if "rand" in command.options else "bandwidth"
    return [
        *lines,
        f"headline: {{metric: {metric}, direction: {'mixed' if mixed else phase.name}}}",
    ]


def _check(text: str, file: str, line: int) -> None:
    from tui.model.address import HostAddress
    from tui.model.profile import resolve_params
    from tui.model.profile_load import load_profile
    from tui.workloads.elbencho.plan import build_steps

    try:
        profile = load_profile(text, file)
        for name, param in profile.params.items():
            parse_param(param, profile.params[name].default)
        build_steps(
            profile, resolve_params(profile, {}), [HostAddress("local", "local")], {"local": 1}
        )
    except UsageError as error:
        raise UsageError([Problem(each.message, file, line) for each in error.problems]) from error


def store_problems(store: Mapping[str, str], paths: Sequence[str]) -> list[str]:
    """Return why a profile cannot express the objects of a command; empty if it can."""
    found = []
    if "s3endpoints" not in store:
        found.append("no endpoint: --s3endpoints is required")
    elif not URL.fullmatch(store["s3endpoints"]):
        found.append(f"--s3endpoints {store['s3endpoints']}: only one endpoint is supported")
    if len(paths) > 1:
        found.append("only one bucket is supported")
    if any("/" in bucket_of(path) for path in paths):
        found.append(
            f"'{paths[0]}': single objects are not supported; name the bucket, and set -n and -N"
        )
    return found


def bucket_of(path: str) -> str:
    """Return the bucket named by a path."""
    return path.removeprefix(SCHEME).rstrip("/")


def store_places(
    store: Mapping[str, str], paths: Sequence[str]
) -> tuple[dict[str, Param], list[str]]:
    """Return the parameters and YAML lines of the bucket and its endpoint."""
    match = URL.fullmatch(store["s3endpoints"])
    assert match is not None
    scheme, endpoint = match.groups()
    params = {
        "endpoint": Param(default=endpoint, kind="text", help="S3 service host and port"),
        "bucket": Param(default=bucket_of(paths[0]), kind="text", help="Existing bucket"),
        **{
            name: Param(default=default, kind="secret", help=about)
            for name, (default, about) in SECRETS.items()
        },
    }
    lines = [
        '  endpoint: "{endpoint}"',
        f'  https: "{"insecure" if scheme == "https" else "off"}"',
        '  bucket: "{bucket}"',
        f'  region: "{store.get("s3region", "us-east-1")}"',
        f'  prefix: "{store.get("s3objprefix", "")}"',
        '  key_id: "{key_id}"',
        '  key: "{key}"',
    ]
    return params, lines


def put_first(phase: Phase) -> list[str]:
    """Return the YAML lines that make a profile put objects before it deletes them."""
    wanted = phase.name == "rmobjects"
    return ["prepare: {precondition: {fill: 1, rounds: 0}}"] if wanted else []
