"""Texts about a run, by code: why steps and runs ended as they did."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tui.metrics import units
from tui.metrics.registry import headline_text
from tui.metrics.steady import SteadyWindow, window_text
from tui.model.operands import Clause
from tui.model.plain import some
from tui.model.plan import Headline, Precondition
from tui.model.problem import suggestion
from tui.model.search import Offer
from tui.text.form import Text, worded_from
from tui.text.names import loss_text
from tui.text.problem_texts import PROBLEMS, how_ended, lock_text
from tui.text.search_texts import SEARCH, offer_text

if TYPE_CHECKING:
    from tui.model.figure_record import CodedText
    from tui.model.step_record import RoundsRecord


def run_text(told: CodedText | Clause | str) -> str:
    """Return the text for a code. Older records and journals store the text itself; return it
    unchanged.
    """
    return worded_from(RUN_OR_SEARCH, told)


# why the engine gave up a step, or the run: followed by the hosts that failed
REFUSALS = {
    "no-connection": "no connection to",
    "preflight-refused": "preflight refused:",
    "hosts-in-use": "in use by another run:",
    "devices-changed": "devices have changed on",
    "targets-changed": "targets have changed on",
    "directories-not-created": "cannot create directories on",
    "wrong-files": "wrong files for the step on",
    "layout-not-checked": "cannot check the layout on",
    "layout-failed": "layout failed on",
    "hosts-not-ready": "not ready to start:",
}


def _refused(head: str, hosts: Sequence[str]) -> str:
    return f"{head} {', '.join(hosts)}"


def steady_after(
    rounds: int, spread: float, most_spread: float, slope: float, most_slope: float
) -> str:
    """Return why further preconditioning rounds are not needed."""
    return f"steady after {rounds} rounds: {_window(spread, most_spread, slope, most_slope)}"


def _window(spread: float, most_spread: float, slope: float, most_slope: float) -> str:
    rule = Precondition("round", range=most_spread, slope=most_slope)
    return window_text(rule, SteadyWindow((), spread, slope))


def round_measured(
    figure: Sequence[Any],
    spread: float | None,
    slope: float | None,
    **rule: Any,
) -> str:
    """Return the figure of a preconditioning round, and the range and slope of the last rounds.

    `figure`: metric, direction, percentile, value.
    """
    *of, value = figure
    so_far = f"too few rounds for a window of {rule['window']}"
    if spread is not None and slope is not None:
        so_far = _window(spread, rule["most_spread"], slope, rule["most_slope"])
    text = f"round {rule['round']} of at most {rule['rounds']}"
    after = "; measured although not steady" if rule["unsteady"] else ""
    return f"{text}: {headline_text(Headline(*of), value)}; {so_far}{after}"


def rounds_text(found: RoundsRecord) -> str:
    """Return the outcome of preconditioning rounds as text, with its figures.

    Older records store the text itself; return it unchanged.

    ``steady after 6 rounds: range 12.0 % (max 20 %), slope 4.0 % (max 10 %)``
    """
    if found.text is not None:
        return found.text
    words = {True: "steady after ", False: "not steady after ", None: "after "}
    figures = f"too few for a window of {found.window}"
    if found.range is not None and found.slope is not None:
        figures = _window(found.range, found.range_limit, found.slope, found.slope_limit)
    return f"{words[found.attained]}{units.plural(len(found.steps), 'round')}: {figures}"


def cannot_offer(offered_iops: float | None, knobs: Sequence[tuple[str, int]], quote: str) -> str:
    """Return which load of a search cannot be offered, and why."""
    return f"cannot offer {offer_text(Offer(offered_iops, 0.0, dict(knobs)))}: {quote}"


STEPS: dict[str, Text] = {
    **{code: partial(_refused, head) for code, head in REFUSALS.items()},
    # why a step was skipped
    "known-well-enough": "known to ±{width:share1} after {repetitions} repetitions",
    "steady-after": steady_after,
    # why it failed, or did not run
    "profiles-failed": lambda profiles: f"not run, because {some(profiles)} failed",
    "no-host-left": "no host of the step is left",
    "not-filled": (
        "not filled on {hosts:all}; to fill again: benchtui runs resume --failed {run_id} (u on"
        " Runs)"
    ),
    "caches-not-dropped": "page cache not dropped on {hosts:all}",
    "directory-not-created": "cannot create {directory} on {host}",
    "cannot-offer": cannot_offer,
    "cut-off": "cut off",
    # several steps at the same time
    "in-step": "{step}: {why}",
    "not-started": "not started: {why}",
    "interrupted": "interrupted",
}


def _requested(mode: str, by: str) -> str:
    return f"{mode} requested" + (f" by {by}" if by else "")


def in_progress(
    phase: str | None,
    seconds: float | None,
    of_s: float | None,
    step: int | None,
    steps: int,
) -> str:
    """Return the progress of a live run: ``running: 9 of 45 s``, ``running: step 2 of 5,
    layout``.
    """
    at = [f"step {step} of {steps}"] if step is not None and steps > 1 else []
    if seconds is not None:
        at.append(f"{seconds:.0f}{'' if of_s is None else f' of {of_s:.0f}'} s")
    elif phase:
        at.append(phase)
    return ": ".join(filter(None, ("running", ", ".join(at))))


RUNS: dict[str, Text] = {
    "allocation-ended": "{quote}",
    "hosts-away": lambda hosts, run_id="RUN": (
        f"{', '.join(hosts)} lost: a search requires all hosts; to continue once they are back:"
        f" benchtui runs resume {run_id}, or u on Runs"
    ),
    "host-lost": "a host was lost",
    "stops-at-loss": "{why}; stopping the run (on_host_loss: stop)",
    "stop-requested": _requested,
    "stopped-on-request": "stopped on request",
    "aborted-on-request": "aborted on request",
    "cannot-write": "cannot write to this machine's disk: {quote}",
    "internal-error": "internal error: {error}: {quote}; details in {log}",
    # its end
    "no-figures": "nothing was measured",
    "only-samples": "no host returned a result; figures come from the samples received",
    "problems-on-hosts": lambda problems: f"{units.plural(problems, 'problem')} on hosts",
    "output-on-hosts": lambda hosts, run_id: (
        f"results of {some(hosts)} are incomplete; once reachable, collect the rest: benchtui runs"
        f" recover {run_id}"
    ),
    "engine-died": "the engine died; {why}",
    "never-started": "{left} of {steps} steps never started",
    "points-missing": (
        "{measured} of at most {planned} points measured; to continue: benchtui runs resume"
        " {run_id}, or u on Runs"
    ),
    # of a search
    "limits-not-met": lambda limit: f"no measured load meets {limit or 'the limits'}",
    "closed-loop-only": "full load meets the limits, but no offered load was measured",
    "search-unfinished": lambda why, option, run_id="RUN": (
        f"search unfinished: {why}; to extend it: benchtui runs resume {run_id} {option}"
        f" {'N' if option == '--points' else 'TIME'}, or u on Runs"
    ),
    # what the record adds
    "in-progress": in_progress,
    "imported": lambda files, more: (
        f"imported from {', '.join(files)}{f' and {more} more' if more else ''}"
    ),
    "not-closed": "the journal was not closed: the engine ended early",
    "no-result": "{host}: no result in step {step}",
    "failed-result": "{host}: error {errno} in step {step}",
    "early-result": "{host}: ended early in step {step}",
    "hosts-left": loss_text,
    "lines-unreadable": lambda lines: f"{units.plural(lines, 'unreadable journal line')} ignored",
    "messages-left": lambda messages: f"{units.plural(messages, 'more message')} in the journal",
    "clocks-as-utc": (
        "times are from the hosts' clocks, interpreted as UTC; the clocks were not compared"
    ),
    "left-out": "left out: {quote}",
    "skipped": "skipped: {quote}",
    "other-total": lambda point, by, printed, direction, alone, hosts, total: (
        f"{point}: {by} printed {units.exact(round(printed))} {direction} IOPS,"
        f" {f'the figure of {alone} alone' if alone else 'not the sum'}; the {hosts} hosts did"
        f" {units.exact(round(total))}"
    ),
    "other-depth": (
        "{point}: requested queue depth {depth}, but {by} runs {program} with {engine}: 1 I/O in"
        " flight per job"
    ),
    "few-digits": "rounded in the output, to few digits: {figures:all}",
}


# states of hosts
HOSTS: dict[str, Text] = {
    "lock-wait": lambda **lock: f"waiting: {lock_text(**lock)}",
    "slow-check": (
        "check running for {waited_s:.0f} s: host busy, or a file system hangs; still waiting"
    ),
    "laid-out": "laid out",
    "connection-lost": "connection lost: {quote}",
    "retrying": "connection lost, retrying: {quote}",
    "reconnected": "reconnected",
    "rejoined": "back; rejoins the run",
    "taken-over": "taken over",
    "recovering": "recovering",
    "collecting": "collecting",
    "still-unreachable": "still unreachable: {quote}",
    "no-contact": "{quote}; its load stopped by itself {lease_s:g} s later",
    "ended-early": "ended early",
    "ended-by-host": "{quote}",
}

FORWARDED = (
    (
        "your keys are in a forwarded agent: after you log out, a lost connection cannot be"
        " re-established"
    ),
    "keep this session, use a key file here, or run an ssh-agent on this machine",
)

# messages of the engine
MESSAGES: dict[str, Text] = {
    "load-not-stopped": "the load was not stopped: {quote}; it stops when the lease expires",
    "stopping-late-load": (
        "the load is still running {late_s:g} s after its planned end; stopping it"
    ),
    "host-stopped-on-request": "stopped on request (this host only)",
    "no-load-on": lambda host, meant: f"no load is running on host {host}{suggestion(meant)}",
    "still-writing": "host {host} is still writing its files: stop the run, or wait",
    "stop-not-delivered": (
        "{mode} was not delivered: {quote}; the load stops when the lease expires"
    ),
    "not-cancelled": (
        "could not cancel the prepared load: {quote}; it stops when the lease expires"
    ),
    "not-released": "load not released ({quote}); releasing it after reconnecting",
    "reconnecting": "connection lost ({quote}); the load keeps running; reconnecting",
    "nothing-lost": "reconnected; nothing was lost",
    "end-unasked": "how the command ended is unknown: {quote}",
    "telemetry-stopped": "telemetry stopped: {quote}; the load keeps running",
    "telemetry-ended": "it ended unexpectedly",
    "no-telemetry-of": "telemetry: no {name} on this host: {quote}",
    "measurements-lost": (
        "cannot write measurements to this machine's disk, stopping the load: {quote}; collect the"
        " rest later with benchtui runs recover"
    ),
    "journal-has-gaps": ("this run's journal has gaps: collecting the missing data from the hosts"),
    "not-collected": "results not collected: {quote}",
    "collected": "results collected",
    "runs-beside": lambda **lock: f"{lock_text(**lock)}; running at the same time, as requested",
    "expired-load-killed": lambda processes, run: (
        f"killed {processes} process{'' if processes == 1 else 'es'} of run {run}: its lease had"
        " expired and its supervisor was killed"
    ),
    "spool-removed": (
        "removed the spool of run {run} under /tmp ({size_bytes:size}): not collected for {days}"
        " days"
    ),
    "leftovers": (
        "leftovers under /tmp from {runs:names}; to collect them: benchtui runs recover; to remove"
        " them: benchtui hosts sweep"
    ),
    "forwarded-agent": lambda hosts: f"{'; '.join(FORWARDED)} (used by {some(hosts, 3)})",
    "waits-for": lambda **lock: f"{lock_text(**lock)}; waiting for it",
    "block-size-doubtful": (
        "{path}: direct I/O of {size} bytes, not a multiple of 512: the file system may refuse it"
    ),
    "server-unreachable": "server unreachable, not monitored: {quote}",
    "server-not-left": "the agent's directory may still be under /tmp: {quote}",
    "host-not-left": lambda quote, gone: (
        "the agent's directory under /tmp, and the host's lock until it expires, may remain:"
        f" {quote}{'' if gone else '; to find them: benchtui hosts sweep'}"
    ),
    "step-ended-early": "{step} ended early: {why}",
    "round-measured": round_measured,
    "next-step": lambda step, why: (
        f"{f'{step}: ' if step else ''}{why}; continuing with the next step"
    ),
    "cache-dropped": "page cache dropped ({quote}) before {step}",
    "cache-kept": "page cache not dropped: {quote}",
    "never-written": (
        "{never_bytes:size} of {of_bytes:size} to read was never written, for example in {path}"
    ),
    # files
    "files-unidentified": "cannot identify files; benchtui clean will skip them: {quote}",
    "directories-unidentified": (
        "cannot identify directories; benchtui clean will skip them: {quote}"
    ),
    "files-kept": "files not removed: {quote}",
    "some-files-kept": lambda paths, path, quote: (
        f"files not removed: {some(paths, 3)}; {path}: {quote}"
    ),
    "files-removed": lambda files: (
        f"removed {'a file or directory' if files == 1 else f'{files} files and directories'}"
        " created by the run"
    ),
    "kept-in": "files not removed from {directory}: {quote}",
    "unfinished-files": "an unfinished run's files remain in {directory}",
    "not-removed": "{path} not removed: {quote}",
    # MPI
    "launched-by": "launched by {mpi}",
    "reports-kept": lambda directory, exit_code: (
        f"reports not collected, still in {directory}: tar {how_ended(exit_code)}"
    ),
    "reports-left": "reports remain in {directory}: {quote}",
    "no-shared-memory": "no directory for shared memory: {quote}",
    "killed-leftovers": lambda pid, command, more: (
        f"killed process {pid} ({command}){f' and {more} more' if more else ''}, left over from the"
        " run"
    ),
    "ranks-blocked": lambda ranks, pids: (
        f"{units.plural(ranks, 'rank')} blocked in the kernel, most likely by storage: PID"
        f" {', '.join(map(str, pids))}"
    ),
}

RUN = STEPS | RUNS | HOSTS | PROBLEMS | MESSAGES
RUN_OR_SEARCH = SEARCH | RUN
