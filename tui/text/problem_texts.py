"""Texts of host problems, by code: why a connection, a call or a load failed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tui.metrics import units
from tui.model.distributions import not_installed
from tui.text.form import BY_GENERATOR, Text, advice_of, of_generator, worded_from
from tui.text.preflight_texts import PREFLIGHT

if TYPE_CHECKING:
    from tui.model.figure_record import CodedText
    from tui.model.operands import Clause

NO_TERMINAL = "there is no terminal to ask on"
IN_A_TERMINAL = "run this in a terminal"
TOO_MUCH = {
    "answer": "the answer to one call has",
    "login": "the login shell did not start the agent's script and printed",
    "stderr": "the script's stderr has",
}
ALLOCATION_STATES = {
    "TIMEOUT": "time limit",
    "NODE_FAIL": "a node failed",
    "OUT_OF_MEMORY": "out of memory",
}  # of Slurm


# reasons why a load ended on a host
LOAD_ENDS: dict[str, Text] = {
    "lease-expired": "lease expired: the host stopped the load",
    "supervisor-died": "the agent's supervisor was killed; the remaining load was stopped",
    "host-rebooted": "the host rebooted during the measurement",
    "spool-full": "no space left in the agent's directory under /tmp on the host: output lost",
    "runner-died": "the shell that ran the load was killed",
    "agent-directory-removed": (
        "the agent's directory under /tmp on the host was removed; the host stopped the load"
    ),
    "agent-flooded": "too much output: the host stopped the load",
    "end-unknown": "output collected; exit code unknown: the host did not answer",
}


def problem_text(told: CodedText | Clause | str) -> str:
    """Return the text of a problem. Older records and journals store the text itself; return it
    unchanged.
    """
    return worded_from(PROBLEMS, told)


def how_ended(exit_code: int | None) -> str:
    """Return how a program ended, as text; exit codes above 128 mean a signal, as in the shell."""
    if exit_code is None:
        return "ended with an unknown exit status"
    signal = exit_code - 128
    return f"was killed by signal {signal}" if 0 < signal <= 64 else f"exited with code {exit_code}"


def lock_text(run: str, owner: str, left_s: int, until: str = "") -> str:
    """Return which run holds a host, and how long its lock lasts; `until`: the time of day."""
    when = f"at {until}" if until else f"in {left_s} s"
    return f"in use by run {run} of {owner}; lock until {when} unless renewed"


def _locked(waited_s: float | None, **lock: Any) -> str:
    waited = f"; waited {units.duration(waited_s)}" if waited_s else ""
    return f"{lock_text(**lock)}{waited}"


def _advised(text: str, path: str, advice: str) -> str:
    return f"{path} {text}{f' ({advice})' if advice else ''}"


def _with_output(text: str, output: str) -> str:
    return f"{text}: {output}" if output else text


def _ended_with(status: int | None) -> str:
    return "ended" if status is None else f"exited with status {status}"


def _ignoring(text: str, ignored: Sequence[str]) -> str:
    return "; ".join((text, *(f"benchtui ignores {each}" for each in ignored)))


def _too_much(what: str, most_bytes: int) -> str:
    printed = f"{TOO_MUCH[what]} more than {most_bytes >> 10} KiB"
    return f"{printed}: something on the host may print endlessly"


def _slow_shell(limit_s: float, quote: str) -> str:
    return (
        f"logged in, but the login shell did not start within {limit_s:g} s: a start-up file may be"
        f" waiting, or the link may be slow{f'; it printed: {quote}' if quote else ''}"
    )


def _not_run_by_sh(quote: str) -> str:
    printed = f"; it printed: {quote}" if quote else ""
    return (
        "/bin/sh did not run the agent's script: a forced command, or a login shell that exits"
        f" early{printed}"
    )


def penalty(waited_s: float) -> str:
    """Return the meaning of sshd's refusal of this address, and how long it has lasted."""
    return (
        f'"Not allowed at this time" for {waited_s:.0f} s so far: a penalty for failed or'
        " unfinished logins (PerSourcePenalties, 15 s to 10 min by default), or MaxStartups is"
        " too low"
    )


def _key_unknown(fingerprint: str, name: str, ignored: Sequence[str]) -> str:
    trust = f"compare it with the host's, then run: benchtui hosts trust {name}"
    return _ignoring(f"unknown host key {fingerprint}; {trust}", ignored)


def _key_changed(fingerprint: str, expected: Sequence[str], files: Sequence[str]) -> str:
    return (
        f"host key changed: the host presents {fingerprint}; expected {', '.join(expected)}. This"
        " may be a man-in-the-middle attack. If the host was reinstalled, remove its line from"
        f" {', '.join(files)}"
    )


def _no_key(head: str, unusable: Sequence[str], ignored: Sequence[str]) -> str:
    return _ignoring("; ".join((head, *unusable)), ignored)


def _proxy(command: str) -> str:
    return f"ProxyCommand {command!r}"


def _proxy_ended(command: str, status: int | None, output: str) -> str:
    ended = f"ended with status {status}" if status else "ended before the SSH greeting"
    return _with_output(f"{_proxy(command)} {ended}", output)


def _no_answer_through(command: str, quote: str, output: str) -> str:
    return _with_output(f"no answer through {_proxy(command)}; {quote}", output)


def _proxy_said(command: str, quote: str, output: str) -> str:
    return _with_output(f"{quote}; {_proxy(command)}", output)


def _allocation_over(job: str, state: str) -> str:
    told = ALLOCATION_STATES.get(state, state.lower().replace("_", " "))
    return _with_output(f"allocation {job} ended", told)


def _stream_limit(limit_bytes_per_s: float, burst_bytes: float) -> str:
    return f"limit {limit_bytes_per_s / 1e6:g} MB/s and {burst_bytes / 1e6:g} MB at once"


def _flooded(load: str, stream: str, sent_bytes: int, last_s: int, limit: str) -> str:
    took = f"the last {last_s} s" if last_s else "less than 1 s"
    return (
        f"{load} flooded {stream}: {sent_bytes / 1e6:,.1f} MB in {took}, {limit}; the agent killed"
        " it on the host"
    )


PROBLEMS: dict[str, Text] = {
    **PREFLIGHT,
    BY_GENERATOR: of_generator,
    "problem": "{quote}",
    "advised": lambda quote, advice: "; ".join(filter(None, (quote, *advice))),
    "advice": advice_of,
    "details-in-log": "{quote}; details in {log}",
    "host-internal-error": lambda error, quote, place: (
        f"internal error: {error}: {quote}{f' ({place})' if place else ''}"
    ),
    # connections
    "refused-by": "connection refused by {host} port {port}",
    "no-answer-from": "no answer from {host} port {port}",
    "unknown-name": "unknown host name {host}",
    "hangs-up": (
        "{host} port {port} closes the connection before the SSH greeting: not an SSH server, or"
        " MaxStartups is too low"
    ),
    "penalised": lambda host, port, waited_s: (
        f"{host} port {port} refuses this machine ({penalty(waited_s)})"
    ),
    "closed-in-handshake": (
        "{host} port {port} closed the connection during the handshake: {quote}"
    ),
    "bastion-cannot-reach": "the bastion cannot reach {host} port {port}: {quote}",
    "of-bastion": "bastion {name}: {quote}",
    "cannot-connect": "cannot connect to {place}: {quote}",
    "jump-loop": "ProxyJump {name} is a loop",
    "no-answer-through": _no_answer_through,
    "proxy-ended": _proxy_ended,
    "proxy-said": _proxy_said,
    "no-connection-in": "no connection in {limit_s:.0f} s",
    "not-connected": "not connected",
    "not-back": "{quote}; not back in {limit_s:g} s: {refusal}",
    "connection-gone": "the connection did not come back",
    "connection-reset": "the connection was reset",
    "connection-closed": "the connection was closed",
    "silent-host": "the host no longer answers",
    "lost-in-answer": "connection lost before the answer was complete",
    "lost-before-answer": "connection lost before the host replied",
    "no-answer": "no answer in {limit_s:g} s",
    "no-answer-in-time": "no answer in time",
    "file-system-may-hang": "{quote}; a file system may hang; checked: {directories:all}",
    "retrying-for": "{quote}; retrying for {limit_s:.0f} s",
    "answers-once": lambda place, asked: (
        f"{place} asked for {' and '.join(map(repr, asked))}: the answer is valid only once, so a"
        " lost connection cannot be re-established"
    ),
    # host keys and logins
    "no-host-key": "no host key from {host}: {quote}",
    "host-key-missing": "{host} presents no host key",
    "ca-key-revoked": "the CA key that signed the host certificate of {host} is revoked",
    "key-revoked": "the host key of {host} is revoked",
    "certificate-refused": "host certificate of {host} refused: {quote}",
    "key-unknown": _key_unknown,
    "key-changed": _key_changed,
    "denied": "permission denied for {place}: {why}",
    "no-key-accepted": partial(_no_key, "no key accepted"),
    "no-usable-key": partial(_no_key, "no usable key"),
    "encrypted-key": "{path} is encrypted: add it to an SSH agent (ssh-add {path})",
    "encrypted-key-unasked": (
        f"{{path}} is encrypted: add it to an SSH agent (ssh-add {{path}}), or {IN_A_TERMINAL}"
    ),
    "stays-encrypted": "{path} is encrypted: {why}",
    "no-input": "no input",
    "wrong-passphrases": "{tries} wrong passphrases",
    "answers-refused": "answers refused {tries} times",
    "password-refused": "password refused",
    "password-given-up": (
        "the {what} was refused {tries} times by {place}; not tried on other hosts"
    ),
    "asked-at-every-login": f"the server asks for {{asked:and}} at every login; {NO_TERMINAL}",
    "password-wanted": (
        f"{{why}}; the server accepts a password, but {NO_TERMINAL}: {IN_A_TERMINAL}, or set up a"
        " key (ssh-copy-id) or an SSH agent (ssh-add)"
    ),
    "too-many-questions": "gave up on {place} after {rounds} rounds of login questions",
    # configuration
    "ssh-configuration": lambda files, quote: (
        f"SSH configuration{' ' if files else ''}{', '.join(files)}: {quote}"
    ),
    "known-hosts": "known_hosts {files:all}: {quote}",
    "revoked-host-keys": (
        "RevokedHostKeys {path}: {quote}; expected public keys, one per line (no KRL)"
    ),
    "exec-unreadable": "exec: {quote}: {command}",
    "exec-empty": "exec: no command given",
    "secret-missing": (
        "no value for the secret {names:all}: set it in the environment, or start benchtui on a"
        " terminal"
    ),
    # shells and channels
    "not-installed": not_installed,
    "cannot-start": "cannot start {program}: {quote}",
    "cannot-start-shell": "cannot start a shell: {quote}",
    "shell-over": "the shell ended",
    "shell-ended": "the shell has ended: {quote}",
    "shell-ended-early": lambda status, quote: (
        f"the shell {_ended_with(status)} before the script began: {quote or 'no output'}"
    ),
    "no-shell": lambda program, status, quote: (
        f"{program} {_ended_with(status)} and did not start a shell: {quote or 'no output'}"
    ),
    "no-channel": "no channel: {quote}",
    "no-channel-in": "cannot open a channel within {limit_s:g} s",
    "slow-shell": _slow_shell,
    "too-much": _too_much,
    "not-run-by-sh": _not_run_by_sh,
    "unexpected-output": (
        "unexpected output after the agent's script: {quote}; a login shell or forced command must"
        " print nothing there, because benchtui counts bytes of output"
    ),
    # the agent, and streams of loads
    "agent-ended-early": "the agent ended early",
    "agent-without-output": "the agent ended before it sent any output",
    "agent-without-time": "the agent stopped reporting the time",
    "files-incomplete": "the agent's list of files is incomplete",
    "nul-in-argument": "a path or argument contains a NUL character",
    "clock-not-read": "clock not read within {limit_s:g} s",
    "still-there": "processes of run {run} still running after SIGKILL: {left}",
    "stream-not-started": "the output stream did not start within {limit_s:g} s",
    "stream-broke": "the stream broke: {error}: {quote}",
    "stream-stalled": "the output stream has stalled",
    "stream-missing": "no open stream to release the load",
    "accepts-no-input": "the host accepted no input for {limit_s:g} s",
    "bad-checksum": "{name}: checksum mismatch after the copy to /tmp; is /tmp full?",
    "floods": lambda load, stream, sent_bytes, why: (
        f"{load} floods {stream} ({sent_bytes / 1e6:.1f} MB so far): {why}"
    ),
    "flooded": _flooded,
    "printed-too-much": "{load} printed more than allowed; the agent killed it on the host",
    "stream-limit": _stream_limit,
    "parsing-limit": (
        "parsing the output takes more than {share:share} of a CPU core of the jump host"
    ),
    # loads, and how hosts ended them
    **LOAD_ENDS,
    "stopped-by-host": "the host stopped the load: {quote}",
    "not-restored": "connection lost and not restored; {why}",
    "ended-somehow": "how the load ended is unknown",
    "stopped-alone": "load stopped on request; the other hosts continued",
    "stop-unconfirmed": "could not confirm that the load has stopped",
    "spool-missing": "spool not found: {quote}",
    "unreachable-in-recovery": "unreachable during recovery: {quote}",
    "leftovers-unknown": "leftovers unknown: {quote}",
    "never-released": "the engine died before it released the load",
    "lost-before-step": "lost before this step: excluded from {step}",
    "load-frozen": (
        "still busy {late_s:g} s after its planned end, silent for {silent_s:.0f} s: the host is"
        " frozen, or its storage does not answer"
    ),
    "overtime": "still busy {late_s:g} s after its planned end",
    # MPI
    "in-trial": "trial launch: {quote}",
    "proxies-missing": "mpiexec requested {requested} of {wanted} proxies in {limit_s:g} s",
    "proxy-not-started": "MPI proxy not started: {quote}",
    "proxy-over": lambda exit_code, why: (
        f"MPI proxy {f'ended ({why})' if why else how_ended(exit_code)} while the other hosts"
        " continued"
    ),
    "proxy-killed": lambda exit_code: f"MPI proxy {how_ended(exit_code)} during the run",
    "program-stopped": "connection to this host lost; the whole program was stopped",
    "ranks-late": (
        "the ranks did not start in {limit_s:g} s: hosts cannot reach each other, or MPI hangs"
    ),
    "no-rank-left": "no rank is left on this host, but mpiexec is still running",
    "ranks-unconfirmed": "cannot confirm that the ranks have ended: {quote}",
    "not-shared": "{directory} is not the same file system as on {head}",
    "cannot-create-files": "cannot create files in {directory}: {quote}",
    # hosts in use, files and directories
    "host-locked": _locked,
    "in-layout": "layout: {quote}",
    "cache-not-dropped": "cannot drop the page cache: {quote}",
    "file-foreign": lambda path, empty: (
        f"{path} is not {'an empty' if empty else 'a regular'} file created by your runs; no"
        " numbered files were removed"
    ),
    "files-there": partial(
        _advised, "exists, but the load must create it; remove these files first"
    ),
    "files-missing": partial(
        _advised, "does not exist; create these files first, with the same parameters"
    ),
    "directory-changed": "{path}: {why}; not written to, start the run again",
    "leads-elsewhere": "it now resolves to {now}; at preflight it was {before}",
    "mounted-over": "a different file system was mounted there after the preflight",
    "directory-replaced": "the directory was replaced after the preflight",
    "file-appeared": "{path} appeared since the preflight; not overwritten, start the run again",
    "file-replaced": (
        "{path} was replaced since the preflight; not overwritten, start the run again"
    ),
    # nodes of a scheduler
    "allocation-unknown": "allocation {job} ended: no longer known to Slurm",
    "allocation-over": _allocation_over,
    "srun-damaged": "the connection through srun is damaged: {quote}",
    "srun-ended": "srun ended: {quote}",
    "own-srun": "uses one srun for each shell, not the shared one: {quote}",
    "srun-stuck": "srun accepts no more input: a node may hang",
    "starter-ended": "the process that starts shells on the node has ended",
}
