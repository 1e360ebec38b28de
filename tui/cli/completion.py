"""`benchtui completion`: completion script for a shell, and the answers to its Tab key.

Completion runs on every Tab, so it reads only names.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any

from tui.cli.shared.arguments import VERBS, Load, parser_with, verbs_of
from tui.cli.shared.common import paths, user_settings
from tui.model.paths import from_home
from tui.model.problem import BenchtuiError

SHELLS = ("bash", "zsh", "fish")
USE = """install it in the directory that the shell searches:
  bash   benchtui completion bash > ~/.local/share/bash-completion/completions/benchtui
  zsh    benchtui completion zsh > "${fpath[1]}/_benchtui"
  fish   benchtui completion fish > ~/.config/fish/completions/benchtui.fish"""
MOST_FILES = 2000  # of one folder
FILES = ("FILE", "PATH", "DIR", "FOLDER")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = USE
    parser.add_argument("shell", choices=SHELLS, help="shell to complete for")


def main(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(undescribed(shellcode(["benchtui"], shell=args.shell)), end="")
    return 0


def undescribed(script: str) -> str:
    """Return the script, changed so that zsh shows no colon after names without a description."""
    shown = '        _describe "${words[1]}" completions'
    return script.replace(shown, f'        completions=("${{(@)completions%:}}")\n{shown}')


def complete(load: Load) -> None:
    """Print completions and exit if the environment contains a shell's request.

    Does nothing otherwise.
    """
    from argcomplete.finders import CompletionFinder

    class Finder(CompletionFinder):
        """Corrects completions for bash, which breaks words before an @ instead of after it."""

        def quote_completions(
            self, completions: list[str], quote: str, broken_at: int | None
        ) -> list[str]:
            kept = broken_at is not None and all(
                word[broken_at : broken_at + 1] == "@" for word in completions
            )
            return super().quote_completions(
                completions, quote, broken_at - kept if broken_at is not None else None
            )

    words = os.environ.get("COMP_LINE", "").split()
    Finder()(parser_for(load, words[1] if len(words) > 1 else ""), always_complete_options="long")


def parser_for(load: Load, verb: str) -> argparse.ArgumentParser:
    """Return the parser for one verb, or for the screens, with completers set."""
    parser = parser_with(load, (verb,), screens=verb not in VERBS)
    give_completers(parser, "app")
    if verb in VERBS:
        give_completers(verbs_of(parser)[verb], verb)
    return parser


def give_completers(parser: argparse.ArgumentParser, verb: str) -> None:
    """Set the completer of each argument, including those of nested verbs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                give_completers(below, verb)
        elif action.choices is None:
            action.completer = completer_of(action, verb)  # type: ignore[attr-defined]


def completer_of(action: argparse.Action, verb: str) -> Callable[..., Iterable[str]]:
    """Return the completer of an argument, chosen by its metavar.

    NAME is a profile for `profiles` and for `--profile`; A and B of `compare` are runs.
    """
    from argcomplete.completers import FilesCompleter

    metavar = str(action.metavar or "")
    if action.dest == "terms":
        return terms
    if action.dest == "profile" and verb in ("run", "capacity", "ab"):
        return runnable
    if metavar.startswith(FILES):
        files: Callable[..., Iterable[str]] = FilesCompleter()
        return files
    if metavar == "NAME" and (verb == "profiles" or action.dest == "profile"):
        return profiles
    named = {
        "PROFILE": profiles,
        "RUN": runs,
        "A": runs,
        "B": runs,
        "SPEC": hosts,
        "NAME=HOSTS": roles,
        "FORMAT": formats,
    }
    return named.get(metavar, nothing)


def nothing(**_: Any) -> list[str]:
    """Return no completions, for a value that only the user knows.

    argcomplete's own class for this would hide the option as well.
    """
    return []


def quietly(names: Callable[[str], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a completer that offers no names, instead of failing, if files cannot be read."""

    def completer(prefix: str = "", **_: Any) -> list[str]:
        try:
            return [name for name in names(prefix) if name.startswith(prefix)]
        except (BenchtuiError, OSError):
            return []

    return completer


@quietly
def runs(_: str) -> Iterable[str]:
    """Complete run IDs, `last` and `last:any`."""
    from tui.library.runs import WORDS

    names = os.listdir(paths().runs)  # noqa: PTH208
    return [*WORDS, *sorted((name for name in names if not name.startswith(".")), reverse=True)]


@quietly
def profiles(_: str) -> Iterable[str]:
    """Complete tags of profiles."""
    from tui.engine.inputs.profiles import Catalogue

    return Catalogue(paths().profiles).names()


@quietly
def runnable(_: str) -> Iterable[str]:
    """Complete tags of profiles, and load generators.

    Includes load generators that run profiles only, because excluding them would import them all.
    """
    from tui.engine.inputs.profiles import Catalogue
    from tui.model.tool import installed

    return [*Catalogue(paths().profiles).names(), *installed()]


def terms(prefix: str = "", parsed_args: Any = None, **_: Any) -> list[str]:
    """Complete KEY=VALUE words after a load generator's name.

    Common keys come first; after ``rw=`` its values are offered.
    """
    from tui import workloads
    from tui.model.tool import installed

    tool = getattr(parsed_args, "profile", None)
    if tool not in installed():
        return []
    from_terms = workloads.get(tool).from_terms()
    name, equals, value = prefix.partition("=")
    common = from_terms.job_terms()
    if equals:
        before = value.rpartition(",")[0]
        begin = f"{name}={before}," if before else f"{name}="
        words = next((term.choices for term in common if term.name == name), ())
        return [begin + word for word in words if (begin + word).startswith(prefix)]
    found = [f"{term.name}=" for term in common if term.name.startswith(prefix)]
    return found or [f"{each}=" for each in from_terms.term_names() if each.startswith(prefix)]


@quietly
def hosts(prefix: str) -> Iterable[str]:
    """Complete hosts of the inventory and of ~/.ssh/config, @groups and local.

    In a comma-separated list, completes the last word and leaves out hosts already listed.
    """
    from tui.model.hostspec import LOCAL, STDIN, source_of, split
    from tui.remote.ssh_include import PATTERN, host_words
    from tui.sources.base import installed_sources

    parts = split(prefix + "?")  # the last one is being typed
    typed = parts[-1][:-1]
    options = options_of(parts[-2], typed, prefix) if len(parts) > 1 else []
    if options and typed:
        return options
    if (
        (found := source_of(typed.removeprefix("!")))
        and found[0] in installed_sources()
        and found[1] != STDIN
    ):
        return [prefix.removesuffix(found[1]) + rest for rest in of_source(*found)]
    before = "".join(f"{part}," for part in parts[:-1])
    described = inventory()
    known, groups = described.get("hosts") or {}, groups_in(described)
    names = [*known, *(f"@{group}" for group in groups), LOCAL]
    names += [
        word
        for word in host_words(user_settings().ssh_config or from_home("~/.ssh/config"))
        if not PATTERN & set(word)
    ]
    if typed and not any(name.startswith(typed) for name in names):
        names = [f"{source}:" for source in installed_sources()]
    named = {name for part in parts[:-1] for name in _named_by(part, groups)}
    return options + [
        before + name
        for name in dict.fromkeys(names)
        if not (named and named.issuperset(_named_by(name, groups)))
    ]


def options_of(source: str, typed: str, prefix: str) -> list[str]:
    """Complete an option of the source before the last comma: ``slurm:@io,no`` to ``nodes=``."""
    from tui.model.hostspec import source_of
    from tui.sources.base import installed_sources

    found = source_of(source.removeprefix("!"))
    if found is None or found[0] not in installed_sources():
        return []
    whole = f"{found[1]},{typed}"
    return [
        prefix.removesuffix(whole) + each for each in of_source(found[0], whole) if each != whole
    ]


def roles(prefix: str = "", parsed_args: Any = None, **_: Any) -> list[str]:
    """Complete the roles of the profile, then their hosts: ``clients=@rack1``."""
    from tui.engine.inputs.profiles import Catalogue

    role, equals, typed = prefix.partition("=")
    if equals:
        return [f"{role}={each}" for each in hosts(typed)]
    try:
        profile = Catalogue(paths().profiles).load(str(parsed_args.profile)).profile
    except (BenchtuiError, OSError, AttributeError):
        return []
    return [f"{name}=" for name in profile.roles if name.startswith(prefix)]


def of_source(name: str, text: str) -> Iterable[str]:
    """Complete the text after a source's colon.

    Offers files, and names that the source knows without running a command.
    """
    from tui.sources.base import SourceContext, load_source

    source = load_source(name)
    known = source.complete(text, SourceContext.here())
    return [*known, *(files_at(text) if source.takes_files else ())]


def files_at(text: str) -> Iterable[str]:
    """Return the paths that start with the typed text, directories with a / at the end."""
    folder, slash, begin = text.rpartition("/")
    try:
        with os.scandir(from_home(folder + slash) if slash else ".") as entries:
            found = [
                each
                for each, _ in zip(entries, range(MOST_FILES), strict=False)
                if each.name.startswith(begin)
            ]
    except OSError:
        return ()
    return sorted(f"{folder}{slash}{each.name}{'/' * each.is_dir()}" for each in found)


def _named_by(part: str, groups: dict[str, Any]) -> list[str]:
    """Return the hosts of one part of a list: a name, a range, or a group."""
    from tui.model.hostspec import expand, source_of

    if source_of(part.removeprefix("!")) is not None:
        return [part]  # what it names is not asked at a Tab
    if not part.startswith("@"):
        return expand(part)
    # groups may not name each other
    others = {name: members for name, members in groups.items() if name != part[1:]}
    return [
        name for member in groups.get(part[1:]) or () for name in _named_by(str(member), others)
    ] or [part]


def groups_in(described: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the members of every group of an inventory.

    A group lists its hosts, or a host lists its groups.
    """
    written = (described.get("groups") or {}).items()
    found = {
        str(name): list(members) if isinstance(members, list) else [] for name, members in written
    }
    for host, each in (described.get("hosts") or {}).items():
        for group in (each.get("groups") if isinstance(each, dict) else None) or ():
            found.setdefault(str(group), []).append(host)
    return found


def inventory() -> dict[str, Any]:
    """Return the inventory as plain data.

    It is not validated, because only names are needed.
    """
    from tui.model.bounded import MOST_SMALL_BYTES, read_text
    from tui.model.yaml_text import load

    file = user_settings().inventory or paths().inventory
    return load(read_text(file, MOST_SMALL_BYTES), str(file)).data if file.exists() else {}


@quietly
def formats(_: str) -> Iterable[str]:
    """Complete export formats."""
    from tui.model.exporter import installed

    return installed()
