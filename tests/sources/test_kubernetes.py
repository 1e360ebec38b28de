"""Pods by the real kubectl, from a stand-in for the API server."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest

from tui.model.problem import UsageError
from tui.sources.base import SourceContext
from tui.sources.kubernetes import TOOL, KubernetesSource

pytestmark = pytest.mark.skipif(shutil.which(TOOL) is None, reason="needs kubectl")


def pod(name: str, phase: str = "Running", **metadata: str) -> dict[str, object]:
    status = {"phase": phase, **({"podIP": "10.1.0.7"} if phase == "Running" else {})}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "status": status,
    }


PODS = {
    "app=bench": [
        pod("bench-0"),
        pod("bench-1"),
        pod("old", "Succeeded"),
        pod("gone", deletionTimestamp="2026-01-01"),
    ],
    "app=late": [pod("late-0"), pod("late-1", "Pending")],
}


class ApiServer(BaseHTTPRequestHandler):
    """As much of an API server as lists pods of the namespace `storage`."""

    def do_GET(self) -> None:
        asked = urlparse(self.path)
        answer: dict[str, object] = {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {},
            "items": [],
        }
        if asked.path == "/api/v1/namespaces/storage/pods":
            answer["items"] = PODS.get(parse_qs(asked.query).get("labelSelector", [""])[0], [])
        elif asked.path == "/api/v1":
            verbs = {"name": "pods", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}
            answer = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [verbs]}
        elif asked.path == "/api":
            answer = {"kind": "APIVersions", "versions": ["v1"]}
        elif asked.path == "/apis":
            answer = {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def context(tmp_path: Path) -> Iterator[SourceContext]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        ],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    environ = {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(tmp_path / "config"),
        "HOME": str(tmp_path),
    }
    yield SourceContext(environ, tmp_path)
    server.shutdown()
    thread.join()
    server.server_close()


def refusal(context: SourceContext, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        KubernetesSource().find(text, context)
    return str(caught.value)


def test_running_pods_are_hosts_and_ended_ones_are_not(context: SourceContext) -> None:
    found = KubernetesSource().find("storage/app=bench", context)
    assert [host.name for host in found.hosts] == ["bench-0", "bench-1"]


def test_a_pod_that_is_not_running_yet_is_named(context: SourceContext) -> None:
    assert "1 of 2 pods of storage/app=late are not running: late-1 (Pending)" in refusal(
        context, "storage/app=late"
    )


def test_a_selector_without_pods_says_so(context: SourceContext) -> None:
    assert "no pod in namespace 'storage' has the labels app=non" in refusal(
        context, "storage/app=non"
    )


def test_an_api_server_that_does_not_answer_is_told_in_a_line(context: SourceContext) -> None:
    config = Path(context.environ["KUBECONFIG"])
    config.write_text(config.read_text().replace("127.0.0.1:", "127.0.0.1:1/"))
    text = refusal(context, "storage/app=bench")
    assert "kubectl" in text and text.isprintable()
