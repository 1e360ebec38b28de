"""`k8s:NAMESPACE/SELECTOR`: the running pods that a label selector names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tui.model.address import HostAddress
from tui.model.bounded import NO_JSON
from tui.model.plain import some
from tui.model.problem import UsageError
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong
from tui.sources.run_command import output_or_error, program

TOOL = "kubectl"
ENDED = ("Succeeded", "Failed")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_SELECTOR = re.compile(r"[A-Za-z0-9_./!=, ()-]+", re.ASCII)
_POD = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


class KubernetesSource(HostSource):
    """Pods, by kubectl and its configuration."""

    form = "k8s:NAMESPACE/SELECTOR, such as k8s:storage/app=bench"
    title = "running pods of a Kubernetes namespace, by label selector"

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the pods. Raises UsageError when one is not running yet."""
        namespace, slash, selector = text.partition("/")
        if not slash or not _NAMESPACE.fullmatch(namespace) or not _SELECTOR.fullmatch(selector):
            what = (
                "a namespace and a label selector are needed"
                if not slash or not selector
                else f"'{text[:80]}'"
            )
            raise wrong(
                self.form,
                what if slash and selector else "a namespace and a label selector are needed",
            )
        tool = program(TOOL, context)
        if tool is None:
            raise UsageError("kubectl is not installed: it lists the pods")
        limit = f"--request-timeout={context.time_limit_s:g}s"
        argv = [
            tool,
            "get",
            "pods",
            f"--namespace={namespace}",
            f"--selector={selector}",
            "--output=json",
            limit,
        ]
        pods = list(pods_of(output_or_error(argv, context), text, namespace))
        if not pods:
            raise UsageError(f"no pod in namespace '{namespace}' has the labels {selector}")
        return FoundHosts(hosts=tuple(pods), how=tool)

    def state(self, context: SourceContext) -> str:
        """Return whether kubectl is there."""
        return program(TOOL, context) or f"not installed: {TOOL}"


def pods_of(printed: str, text: str, namespace: str) -> Iterator[HostAddress]:
    """Yield the running pods of a list as JSON. Raises UsageError."""
    try:
        items = json.loads(printed)["items"]
        pods = [
            pod for pod in items if pod["status"].get("phase") not in ENDED and not _is_leaving(pod)
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
            yield _address(pod, namespace)
    except (*NO_JSON, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{TOOL} does not print a list of pods: {error!r}") from error


def _address(pod: Mapping[str, Any], namespace: str) -> HostAddress:
    name = pod["metadata"]["name"]
    if not _POD.fullmatch(name):
        raise ValueError(f"a pod's name: {name!r}")
    shell = f"{TOOL} exec --stdin --quiet --namespace={namespace} {name} -- /bin/sh"
    return HostAddress(name, transport="exec", through=shell)


def _is_running(pod: Mapping[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _is_leaving(pod: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"]
