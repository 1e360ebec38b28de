"""The verbs and what each does, for whoever names them: the way in, help, completion, the manual page."""

from __future__ import annotations

VERBS: dict[str, str] = {
    "run": "run a profile on hosts and keep the result",
    "capacity": "search for the most load that a system sustains within limits",
    "attach": "watch a live run, or replay a finished one",
    "stop": "finish a run now and keep what was measured",
    "clean": "remove from hosts what a run created there",
    "profiles": "list, show, check, edit benchmark profiles",
    "hosts": "list, check, trust, add hosts",
    "runs": "list, show, annotate saved runs",
    "compare": "hold runs against a run: what differs, and how surely",
    "ab": "two settings of a profile in turns, until one is known to be better",
    "noise": "how far apart runs of the same come out, kept for compare",
    "trend": "the history of one profile, and where it changed",
    "export": "write a saved run in a format that other tools read",
    "import": "judge what a load generator printed elsewhere, and keep it",
    "report": "runs as one HTML file, or as Markdown for a ticket",
    "baselines": "published figures, and a run beside them",
    "findings": "what is checked about a run, and what each finding means",
    "schema": "print the JSON Schema of profile, inventory or run",
    "config": "your settings: theme, symbols, hosts, tags, where runs are kept",
    "completion": "the script that makes bash, zsh or fish complete",
    "man": "the manual page",
    "doctor": "what this jump host has and lacks",
    "app": "open the screens (the same as no verb)",
}
HIDDEN = ("engine",)  # not for people
