"""Pods by the real kubectl, from a stand-in for the API server."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.kubernetes import CONTEXT, Cluster, Pod, missing
from tui.model.problem import UsageError
from tui.sources.base import SourceContext
from tui.sources.kubernetes import KubernetesSource
from tui.testing.sources import check_source

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

PODS = (
    Pod("bench-0"),
    Pod("bench-1"),
    Pod("old", phase="Succeeded"),
    Pod("gone", metadata={"deletionTimestamp": "2026-01-01"}),
    Pod("late-0", label="app=late"),
    Pod("late-1", label="app=late", phase="Pending"),
)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[SourceContext]:
    with Cluster(tmp_path, PODS) as cluster:
        yield SourceContext({"PATH": os.environ["PATH"], **cluster.environ}, tmp_path)


def refusal(context: SourceContext, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        KubernetesSource().find(text, context)
    return str(caught.value)


def test_running_pods_are_hosts_and_everything_else_is_refused_in_a_line(
    context: SourceContext,
) -> None:
    good = {"storage/app=bench": ["bench-0", "bench-1"]}
    bad = ["", "storage", "storage/", "/app=bench", "Storage/app=bench", "storage/a;b", "x/a=b"]
    check_source(
        KubernetesSource(), good, bad, directory=context.directory, environ=context.environ
    )


def test_a_pod_that_is_not_running_yet_is_named(context: SourceContext) -> None:
    assert "1 of 2 pods of storage/app=late are not running: late-1 (Pending)" in refusal(
        context, "storage/app=late"
    )


def test_a_selector_without_pods_says_so(context: SourceContext) -> None:
    assert "no pod in namespace 'storage' matches app=non" in refusal(context, "storage/app=non")


def test_pods_stay_those_of_the_cluster_in_which_they_were_found(context: SourceContext) -> None:
    found = KubernetesSource().find("storage/app=bench", context)
    through = [shlex.split(host.through or "") for host in found.hosts]
    assert all(f"--context={CONTEXT}" in words for words in through)


def test_without_a_context_kubectl_knows_the_cluster_by_itself(context: SourceContext) -> None:
    empty = {"apiVersion": "v1", "kind": "Config"}
    Path(context.environ["KUBECONFIG"]).write_text(json.dumps(empty))
    assert "localhost:8080" in refusal(context, "storage/app=bench")  # what kubectl falls back to


def test_an_api_server_that_does_not_answer_is_reported_in_a_line(context: SourceContext) -> None:
    config = Path(context.environ["KUBECONFIG"])
    config.write_text(config.read_text().replace("127.0.0.1:", "127.0.0.1:1/"))
    text = refusal(context, "storage/app=bench")
    assert "kubectl" in text and text.isprintable()
