"""The interface as it describes itself, and the server held to that description."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minispec.serving.schema import CompletionRequest


@pytest.fixture(scope="module")
def described(server):
    return server.client.get("/openapi.json").json()


def test_every_field_is_described_with_what_this_server_has(server, described):
    schemas = described["components"]["schemas"]
    fields = schemas["CompletionRequest"]["properties"]
    assert set(fields) == set(CompletionRequest.model_fields)
    assert schemas["CompletionRequest"]["additionalProperties"] is False
    assert fields["model"]["enum"] == [server.model]
    assert schemas["Speculative"]["properties"]["draft"]["anyOf"][0]["enum"] == [
        *server.service.settings.drafts,
        "none",
    ]
    post = described["paths"]["/v1/completions"]["post"]
    assert set(post["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
    assert {"400", "401", "404", "408", "413", "415", "429", "500", "503"} <= set(post["responses"])


def test_the_documentation_lists_every_field_and_path(described):
    page = (Path(__file__).resolve().parents[2] / "docs" / "http-api.md").read_text(encoding="utf-8")
    for field in CompletionRequest.model_fields:
        assert f"`{field}`" in page, field
    for path in described["paths"]:
        assert path.replace("{model}", "{id}") in page, path


@pytest.mark.exhaustive
def test_five_thousand_requests_of_every_kind(server, tmp_path):
    """No 500, no hang, and every answer as described; what is not a request is refused."""
    command = Path(sys.executable).with_name("schemathesis")
    if not command.exists() and shutil.which("schemathesis") is None:
        pytest.skip("schemathesis is not installed (dependency group serve-check)")
    # Not every request that the description allows can be served: token ids depend on the vocabulary, lengths on pages.
    flags = ["-n", "1700", "--phases", "coverage,fuzzing", "--checks", "all", "--exclude-checks"]
    done = subprocess.run(
        [str(command) if command.exists() else "schemathesis", "run", f"{server.url}/openapi.json", *flags,
         "positive_data_acceptance", "--request-timeout", "30"],
        capture_output=True, text=True, timeout=1800, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    server.wait_until_idle()
