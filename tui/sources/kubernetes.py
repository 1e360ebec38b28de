"""`k8s:NAMESPACE/SELECTOR`: the running pods that match a label selector."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tui.model.address import HostAddress
from tui.model.bounded import NO_JSON
from tui.model.distributions import not_installed
from tui.model.plain import some
from tui.model.problem import UsageError
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong
from tui.sources.run_command import output_of, output_or_error, program

TOOL = "kubectl"
ENDED = ("Succeeded", "Failed")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_SELECTOR = re.compile(r"[A-Za-z0-9_./!=, ()-]+", re.ASCII)
NAMESPACE_RULE = "only lower-case letters, digits and inner '-', up to 63 characters"
SELECTOR_RULE = "only letters, digits, spaces and any of _ . / ! = , ( ) -"
POD_RULE = "only lower-case letters, digits and inner '-' and '.', up to 253 characters"
_POD = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


class KubernetesSource(HostSource):
    """A source of pods, listed by kubectl with its own configuration."""

    form = "k8s:NAMESPACE/SELECTOR, such as k8s:storage/app=bench"
    title = "running pods in a Kubernetes namespace, by label selector"

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the pods that match. Raises UsageError if there is none, or one is not running."""
        namespace, selector = self._parted(text)
        tool = program(TOOL, context)
        if tool is None:
            raise UsageError(not_installed(TOOL))
        where = [*_context_option(tool, context), f"--namespace={namespace}"]
        what = [f"--selector={selector}", "--output=json"]
        limit = f"--request-timeout={context.time_limit_s:g}s"
        printed = output_or_error([tool, "get", "pods", *where, *what, limit], context)
        pods = list(pods_of(printed, text, where))
        if not pods:
            raise UsageError(f"no pod in namespace '{namespace}' matches {selector}")
        return FoundHosts(hosts=tuple(pods), how=tool)

    def _parted(self, text: str) -> tuple[str, str]:
        """Return the namespace and the selector. Raises UsageError."""
        namespace, _, selector = text.partition("/")
        if not namespace or not selector:
            raise wrong(self.form, "namespace and label selector are required")
        if not _NAMESPACE.fullmatch(namespace):
            raise wrong(self.form, f"namespace '{namespace[:80]}': {NAMESPACE_RULE}")
        if not _SELECTOR.fullmatch(selector):
            raise wrong(self.form, f"label selector '{selector[:80]}': {SELECTOR_RULE}")
        return namespace, selector

    def state(self, context: SourceContext) -> str:
        """Return the path of kubectl, or a note that it is not installed."""
        return program(TOOL, context) or not_installed(TOOL)


def _context_option(tool: str, context: SourceContext) -> list[str]:
    """Return the kubectl option that names the current context.

    A detached or recovered run must not follow the user to another cluster. Empty in a pod, which
    needs no context.
    """
    done = output_of([tool, "config", "current-context"], context)
    name = done.stdout.strip()
    return [f"--context={name}"] if done.code == 0 and name else []


def pods_of(printed: str, text: str, where: Sequence[str]) -> Iterator[HostAddress]:
    """Yield the pods in a JSON list that kubectl printed, except those that have ended or are being
    deleted.

    `where`: kubectl options for reaching a pod. Raises UsageError if a remaining pod is not
    running.
    """
    try:
        items = json.loads(printed)["items"]
        pods = [
            pod
            for pod in items
            if pod["status"].get("phase") not in ENDED and not _is_being_deleted(pod)
        ]
        waiting = [
            f"{pod['metadata']['name']} ({pod['status'].get('phase')})"
            for pod in pods
            if not _is_running(pod)
        ]
        if waiting:
            raise UsageError(
                f"{len(waiting)} of {len(pods)} pods of {text} are not running: {some(waiting)}"
            )
        for pod in pods:
            yield _address(pod, where)
    except (*NO_JSON, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{TOOL} did not print a JSON list of pods: {error!r}") from error


def _address(pod: Mapping[str, Any], where: Sequence[str]) -> HostAddress:
    name = pod["metadata"]["name"]
    if not _POD.fullmatch(name):
        raise UsageError(f"pod name {name!r}: {POD_RULE}")
    words = [TOOL, "exec", "--stdin", "--quiet", *where, name, "--", "/bin/sh"]
    return HostAddress(name, transport="exec", through=shlex.join(words))


def _is_running(pod: Mapping[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _is_being_deleted(pod: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"]
