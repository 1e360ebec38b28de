"""The registry of screens and actions: bindings, footer, help, palette and docs come from it.

How to add a screen
-------------------
1. Write a module in `tui/app/screens` with a class that derives from
   `tui.app.frame.step_screen.StepScreen` and sets ``SCOPE``.
2. Add a `ScreenEntry` to `SCREENS` below, and the class to `CLASSES` of `tui.app.app`, which
   imports it when the screen is first shown.
3. Add its actions below or in `run_actions`, with ids that begin with the screen's name.

How to add an action
--------------------
1. Append an `Action` to the tuple of its screen, below or in `run_actions`. `id` is
   ``<scope>.<name>``. The scope is where the action is available: "app" (everywhere), "list"
   (every `PickList`), "form", "filter", or the name of a screen. The name is the Textual action:
   ``live.zoom`` calls ``action_zoom`` of the screen. For an action with parameters, such as
   ``go('runs')``, set `call`. For a command on the selected run, set `on_run`: ``runs.note``
   calls the command "note" of `run_commands`.
2. `keys` are Textual key names; the first one is displayed. An action without keys is only in the
   palette.
3. `help` is one sentence without a full stop. `footer` > 0 puts the action in the footer, small
   numbers first. At 80 columns the footer has room for 7 actions, including `?` and `q` (100,
   101); a test counts the columns.
4. A `StepScreen` that sets ``SCOPE = "live"`` gets its bindings, footer and help from the
   registry. A widget sets ``BINDINGS = bindings("list")``.
5. `SCOPES` lists the scopes that are active together on a screen. Within them a key must have one
   meaning, which is tested.
6. Run ``python -m tui.app.terminal.actions docs/screens.md`` to update the tables of keys there,
   which is tested as well.
"""

from __future__ import annotations

import sys
from pathlib import Path

from textual.binding import Binding, BindingType

from tui.app.terminal.action import Action, ScreenEntry, key_name
from tui.app.terminal.run_actions import COMPARE, LIVE, RESULT, RUNS

NO_RUN = "no run yet: start one on Review (3), or open one on Runs (6)"
NO_MARKS = "nothing to compare yet: mark runs with Space on Runs (6), then press c"
SCREENS = (
    ScreenEntry("hosts", "Hosts", "1", "choose where to run"),
    ScreenEntry("profiles", "Profiles", "2", "choose what to run"),
    ScreenEntry("job", "Job", back="profiles", part_of="profiles"),
    ScreenEntry("editor", "Editor", back="profiles", part_of="profiles", missing="no file yet"),
    ScreenEntry("review", "Review", "3", "check and change the plan",
          back="profiles", after_choice=True),
    ScreenEntry("live", "Live", "4", "the current run", back="review", missing=NO_RUN),
    ScreenEntry("result", "Result", "5", "the latest result",
          back="runs", missing=NO_RUN, lists=False),
    ScreenEntry("compare", "Compare", back="runs", part_of="runs", missing=NO_MARKS),
    ScreenEntry("runs", "Runs", "6", "all saved runs", aside=True),
)  # fmt: skip
REPLAY = ScreenEntry("replay", "Replay", back="runs", part_of="live", missing=NO_RUN)
"""The screen of a replay.

It has the keys of Live, which still shows the live run.
"""
BY_NAME = {entry.name: entry for entry in (*SCREENS, REPLAY)}
IN_BAR = tuple(entry for entry in SCREENS if entry.key)


KEYS_BEGIN = "<!-- keys begin: python -m tui.app.terminal.actions docs/screens.md -->"
KEYS_END = "<!-- keys end -->"


APP = (
    *(
        Action(
            f"app.{e.name}", (e.key,), e.name, f"Go to {e.title}: {e.help}", call=f"go('{e.name}')"
        )
        for e in SCREENS
        if e.key
    ),
    Action(
        "app.recover",
        ("R",),
        "recover",
        "Recover interrupted runs: collect results left on hosts",
    ),
    Action(
        "app.back", ("escape",), "back", "Leave the field, clear the filter, or go one step back"
    ),
    Action(
        "app.palette",
        ("ctrl+p",),
        "commands",
        "Find a command by its name",
        call="command_palette",
        priority=True,
    ),
    Action(
        "app.theme",
        ("f2",),
        "theme",
        "Change the theme: dark, light, terminal colours",
        call="next_theme",
    ),
    Action(
        "app.help",
        ("question_mark", "f1"),
        "help",
        "Show every key of this screen, with search",
        footer=100,
    ),
    Action(
        "app.quit",
        ("q",),
        "quit",
        "Quit; asks first if Live shows a run that is still running",
        footer=101,
    ),
    Action(
        "app.suspend",
        ("ctrl+z",),
        "suspend",
        "Suspend benchtui; fg resumes it",
        call="suspend_process",
    ),
    Action(
        "app.interrupt",
        ("ctrl+c",),
        "quit",
        "Quit from anywhere, even from a field",
        call="quit",
        priority=True,
    ),
)

LIST = (
    Action("list.down", ("j", "down"), "down", "Move or scroll down", call="move('row', 1)"),
    Action("list.up", ("k", "up"), "up", "Move or scroll up", call="move('row', -1)"),
    Action(
        "list.top",
        ("g", "home"),
        "top",
        "Move to the first row, or to the top",
        call="move('end', -1)",
    ),
    Action(
        "list.bottom",
        ("G", "end"),
        "bottom",
        "Move to the last row, or to the end",
        call="move('end', 1)",
    ),
    Action(
        "list.page-down",
        ("ctrl+d", "pagedown"),
        "page down",
        "Move down by half a screen",
        call="move('page', 1)",
    ),
    Action(
        "list.page-up",
        ("ctrl+u", "pageup"),
        "page up",
        "Move up by half a screen",
        call="move('page', -1)",
    ),
)

HOSTS = (
    Action("hosts.tick", ("space",), "tick",
        "Tick or untick the host; on a heading, the whole group", footer=2,
           call="tick('row')"),
    Action("hosts.all", ("a",), "all", "Tick every host that the filter shows, or untick them all",
        footer=8,
           call="tick('all')"),
    Action("hosts.group", ("u",), "group", "Tick or untick the whole group of the host",
        footer=10,
           call="tick('group')"),
    Action("hosts.observe", ("o",), "observe",
           "Only monitor the host, or let it generate load again", footer=11),
    Action("hosts.filter", ("slash",), "filter",
           "Filter by name, range (h[1-4]), address, group or role", footer=4),
    Action("hosts.check", ("c",), "check",
        "Connect to ticked hosts, or this one, and collect facts", footer=5),
    Action("hosts.sort", ("s",), "sort", "Sort by the next column (after the last: by group)",
        footer=9),
    Action("hosts.reverse", ("S",), "reverse", "Reverse the host order"),
    Action("hosts.refresh", ("r",), "refresh",
           "Reload this source of hosts; on other rows, all sources", footer=6),
    Action("hosts.trust", ("t",), "trust",
        "Show host key fingerprints, and trust them if you agree",
           footer=7),
    Action("hosts.new", ("n",), "add host", "Add hosts to your inventory: names, ranges",
           footer=6),
    Action("hosts.remove", ("D",), "remove host",
        "Remove the host from your inventory; asks first"),
    Action("hosts.job", ("J",), "new job",
        "Describe a job in a form, without a profile",
           footer=3, call="go_on('job')"),
    Action("hosts.pane", ("tab",), "pane",
        "Move to the details (j and k scroll), or back to the list",
           call="app.focus_next"),
    Action("hosts.next", ("enter",), "next", "Continue with Profiles", footer=1,
        call="go_on('profiles')"),
)  # fmt: skip

PROFILES = (
    Action(
        "profiles.next",
        ("enter",),
        "choose",
        "Choose this profile and continue with Review",
        footer=1,
    ),
    Action(
        "profiles.filter",
        ("slash",),
        "filter",
        "Filter profiles by name or title, or describe a job: 4k random read qd16 /mnt/weka",
        footer=2,
    ),
    Action(
        "profiles.edit",
        ("e",),
        "edit",
        "Edit your profile; a preset is extended or copied first",
        footer=3,
    ),
    Action("profiles.outside", ("E",), "editor", "Edit your profile in $EDITOR"),
    Action(
        "profiles.job",
        ("J", "n"),
        "new job",
        "Describe a job in a form, without a profile; commas sweep",
        footer=6,
    ),
    Action(
        "profiles.new",
        ("N",),
        "extend",
        "Create your own profile: extend this one, or copy it",
        footer=7,
    ),
    Action(
        "profiles.view",
        ("v",),
        "job file",
        "Switch between the description and the rendered job file",
        footer=4,
    ),
    Action(
        "profiles.pane",
        ("tab",),
        "pane",
        "Switch between list and text",
        footer=5,
        call="app.focus_next",
    ),
)

JOB = (
    Action("job.launch", ("enter",), "run", "Start the run exactly as shown", footer=1),
    Action(
        "job.edit",
        ("e",),
        "change",
        "Edit the field under the cursor (j and k move the cursor); lists such as 4k,64k are swept",
        footer=2,
    ),
    Action(
        "job.save",
        ("ctrl+s",),
        "save",
        "Save the job as your own profile",
        footer=3,
        priority=True,
    ),
    Action(
        "job.preflight",
        ("p",),
        "preflight",
        "Run the preflight checks on every host now",
        footer=4,
    ),
    Action(
        "job.view",
        ("v",),
        "job file",
        "Switch between the plan and each step's job file",
        footer=5,
    ),
    Action(
        "job.defaults",
        ("d",),
        "defaults",
        "Reset every field to its default; a second press brings back your values",
        footer=6,
    ),
)

EDITOR = (
    Action(
        "editor.save",
        ("ctrl+s",),
        "save",
        "Save the file, even if broken; the list marks it as broken",
        footer=1,
    ),
    Action(
        "editor.view",
        ("f3",),
        "view",
        "Show the next view: job file, differences, parameters or text alone",
        footer=2,
    ),
    Action("editor.problem", ("f4",), "next problem", "Go to the next problem", footer=3),
    Action(
        "editor.values",
        ("f5",),
        "form",
        "Edit parameters in a form; Esc returns to the text",
        footer=4,
    ),
    Action("editor.outside", ("ctrl+o",), "$EDITOR", "Save, then continue in $EDITOR", footer=5),
)

REVIEW = (
    Action("review.launch", ("enter",), "run", "Start the run exactly as shown", footer=1),
    Action(
        "review.edit",
        ("e",),
        "change",
        "Edit the field under the cursor, which j and k move",
        footer=2,
    ),
    Action(
        "review.preflight",
        ("p",),
        "preflight",
        "Run the preflight checks on every host now",
        footer=3,
    ),
    Action(
        "review.view",
        ("v",),
        "job file",
        "Switch between the plan and each step's job file",
        footer=4,
    ),
    Action(
        "review.defaults",
        ("d",),
        "defaults",
        "Reset every field to the profile's value; a second press brings back your values",
        footer=6,
    ),
    Action(
        "review.save",
        ("ctrl+s",),
        "save",
        "Save the profile with these values as your own profile",
        footer=5,
        priority=True,
    ),
    Action("review.local", ("l",), "this machine", "Run on this machine if no host is chosen"),
    Action(
        "review.last-hosts",
        ("h",),
        "last hosts",
        "Run on the last run's hosts if no host is chosen",
    ),
)


ACTIONS: tuple[Action, ...] = (
    *APP,
    *LIST,
    *HOSTS,
    *PROFILES,
    *JOB,
    *EDITOR,
    *REVIEW,
    *LIVE,
    *RESULT,
    *COMPARE,
    *RUNS,
)

SCOPES: dict[str, tuple[str, ...]] = {
    entry.name: (entry.name, "list", "app") if entry.lists else (entry.name, "app")
    for entry in SCREENS
}
"""The scopes of each screen's actions, nearest first."""


def in_scope(scope: str) -> list[Action]:
    """Return the actions of a scope, in registry order."""
    return [action for action in ACTIONS if action.scope == scope]


def of_screen(screen: str) -> list[Action]:
    """Return every action available on a screen, the screen's own first."""
    return [action for scope in SCOPES.get(screen, ("app",)) for action in in_scope(scope)]


def footer_of(screen: str) -> list[Action]:
    """Return the actions in a screen's footer, most important first."""
    return sorted(
        (action for action in of_screen(screen) if action.footer), key=lambda action: action.footer
    )


def bindings(scope: str) -> list[BindingType]:
    """Return Textual bindings for the actions of one scope."""
    return [
        Binding(
            key,
            action.action,
            action.label,
            show=False,
            priority=action.priority,
            tooltip=action.help,
        )
        for action in in_scope(scope)
        for key in action.keys
    ]


def key_table(scope: str) -> str:
    """Return the keys of a scope as a Markdown table, for docs/screens.md."""
    rows = [
        f"| {', '.join(map(key_name, a.keys))} | {a.label} | {a.help} |" for a in in_scope(scope)
    ]
    return "\n".join(["| key | name | what it does |", "|---|---|---|", *rows])


def key_tables() -> str:
    """Return the tables of all scopes, each after a comment with the scope's name."""
    return "\n\n".join(
        f"<!-- keys: {name} -->\n{key_table(name)}" for name in ("app", "list", *SCOPES)
    )


def write_tables(path: Path) -> None:
    """Replace the key tables in a Markdown file, between two marks."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(KEYS_BEGIN)
    _, end, after = rest.partition(KEYS_END)
    if not (begin and end):
        raise SystemExit(f"{path}: no marks {KEYS_BEGIN} and {KEYS_END}")
    path.write_text(f"{before}{begin}\n\n{key_tables()}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_tables(Path(sys.argv[1])) if len(sys.argv) > 1 else print(key_tables())
