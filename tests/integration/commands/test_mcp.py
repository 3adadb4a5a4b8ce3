"""`ratchet mcp` as an assistant's program speaks with it: a process, a line of JSON a message."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.cli import USAGE, run
from app.commands import mcp_tools
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import PROJECT, Poster, sha, stepped
from tests.factories.serving import served
from tests.integration.series.conftest import grown

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parents[3]
VERSION = "2025-06-18"
TOOLS = [
    "find_series",
    "read_series",
    "compare",
    "list_alerts",
    "list_changes",
    "list_runs",
    "read_run",
    "read_check",
]


class Conversation:
    """One process, and what is said to it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from app.cli import main; main(['mcp'])"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._id = 0

    def say(self, method: str, **params: Any) -> None:
        self._write({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and return what is answered: the result, or the error."""
        self._id += 1
        self._write({"id": self._id, "method": method, "params": params})
        answer = json.loads(self._read())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self._id)
        found: dict[str, Any] = answer["result"] if "result" in answer else answer["error"]
        return found

    def begin(self, version: str = VERSION) -> dict[str, Any]:
        told = self.ask(
            "initialize",
            protocolVersion=version,
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        self.say("notifications/initialized")
        return told

    def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Call a tool; return whether it went well, and its text."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        (content,) = result["content"]
        return not result.get("isError", False), content["text"]

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        is_good, text = self.call(tool, **arguments)
        assert is_good, text
        found: dict[str, Any] = json.loads(text)
        return found

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        assert self.process.stdout.read() == ""
        self.process.stdout.close()
        assert self.process.stderr is not None
        self.said = self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        self.process.stdin.flush()

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@pytest.fixture
def conversation(
    service: Service, client: TestClient, admin_token: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Conversation]:
    """A process beside a service that has a history of 60 points, whose level changes at the 30th, and a check."""
    grown(Poster(client, service, admin_token), stepped(60, 30, 0.2))
    with service.database.session() as session:
        stored.check(session, results.regressed())
    with served(service) as address:
        its = Conversation({"RATCHET_URL": address, "RATCHET_TOKEN": admin_token})
        with its.process:
            yield its
            its.process.kill()


def test_two_device_classes_are_told_in_short(
    conversation: Conversation, service: Service, client: TestClient, admin_token: str
) -> None:
    Poster(client, service, admin_token).tell([4.5, 5.5], 59, device_class="gpu-x")
    conversation.begin()
    told = conversation.answer("compare", project=PROJECT, base="cpu-test-2t", head="gpu-x")["hardware"]
    (case,) = told["cases"]
    assert (told["n_cases"], case["performance"].keys()) == (1, {"ratio", "best"})
    assert case["performance"]["ratio"] == pytest.approx(told["means"]["performance"]["ratio"])
    assert "gpu-x" in told["sentence"]


def test_an_assistant_asks_its_questions(conversation: Conversation) -> None:
    told = conversation.begin()
    assert (told["protocolVersion"], told["serverInfo"]["name"]) == (VERSION, "ratchet")
    assert "tools" in told["capabilities"]
    assert "find_series" in told["instructions"]
    assert conversation.ask("ping") == {}

    tools = {tool["name"]: tool for tool in conversation.ask("tools/list")["tools"]}
    assert list(tools) == TOOLS
    for tool in tools.values():
        assert tool["description"]
        assert (tool["annotations"]["readOnlyHint"], tool["inputSchema"]["additionalProperties"]) == (
            True,
            False,
        )
        properties = tool["inputSchema"]["properties"]
        assert [name for name, schema in properties.items() if "description" not in schema] == []
    assert tools["compare"]["inputSchema"]["required"] == ["project", "base", "head"]

    (found,) = conversation.answer("find_series", words="resize cpu")["series"]
    assert (found["n"], found["unit"]) == (60, "s")
    trend = conversation.answer("read_series", series=found["id"], detail=1)
    assert 2 < len(trend["points"]) < 20
    assert dict(zip(trend["columns"], trend["points"][-1], strict=True))["commit"] == sha(59)
    (change,) = trend["changes"]
    assert (change["commit"], change["subject"]) == (sha(30), "")
    zoomed = conversation.answer("read_series", series=found["id"], first=28, last=31)
    assert [row[0] for row in zoomed["points"]] == [28, 29, 30, 31]
    (listed,) = conversation.answer("list_changes", project=PROJECT)["changes"]
    assert listed["commit"] == sha(30)
    assert conversation.answer("list_alerts", state="closed") == {
        "alerts": [],
        "counts": {},
        "more": False,
        "next": None,
    }
    compared = conversation.answer("compare", project=PROJECT, base=sha(0), head="main")
    assert [pair["head_commit"] for pair in compared["series"]] == [sha(59)]
    assert compared["hardware"] is None
    (run,) = conversation.answer("list_runs", commit=sha(59))["runs"]
    (result,) = conversation.answer("read_run", run=run["run"], values=True)["results"]
    assert result["values"] == [result["value"]]
    (result,) = conversation.answer("read_run", run=run["run"])["results"]
    assert "values" not in result
    assert conversation.answer("list_runs", since="1h", limit=1) == conversation.answer("list_runs", limit=1)
    check = conversation.answer("read_check", check=1)
    assert check["conclusion"] == "regressed"
    verdicts = {case["verdict"] for suite in check["suites"] for case in suite["cases"]}
    assert "no_regression" not in verdicts
    assert sum(suite["n_no_regression"] for suite in check["suites"]) > 0

    for tool, arguments, said in (
        ("read_series", {"series": 9999}, "there is no series 9999"),
        ("read_series", {"series": "first"}, "valid integer"),
        ("compare", {"project": PROJECT, "base": "x", "head": "y"}, "no branch or device class"),
        ("list_changes", {"project": PROJECT, "state": "new"}, "confirmed"),
        ("find_series", {"device": "cpu"}, "device"),
        ("list_runs", {"since": "yesterday"}, "'yesterday' is no time: right is"),
        ("read_run", {"run": 99}, "99"),
        ("drop_series", {}, "drop_series"),
    ):
        is_good, text = conversation.call(tool, **arguments)
        assert not is_good
        assert said in text
    assert conversation.ask("tools/forget")["code"] == -32601
    assert conversation.end() == 0
    assert "Traceback" not in conversation.said


def test_version_that_is_not_known_is_answered_with_one_that_is() -> None:
    its = Conversation({"RATCHET_URL": "http://127.0.0.1:9", "RATCHET_TOKEN": "t"})
    assert its.begin("2099-12-31")["protocolVersion"] in ("2025-06-18", "2025-11-25")
    is_good, text = its.call("list_runs")
    assert (is_good, "does not answer" in text) == (False, True)
    assert its.end() == 0


def test_every_tool_is_explained_on_its_page() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert [name for name in TOOLS if f"| `{name}` |" not in page] == []


def test_without_a_service_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RATCHET_URL", raising=False)
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path))
    assert run(["mcp"]) == USAGE
    assert "RATCHET_URL" in capsys.readouterr().err


class Double:
    """A service whose answer is long."""

    def find_series(self, wanted: dict[str, str], limit: int) -> dict[str, Any]:
        return {"series": ["x" * 100] * limit}


def test_answer_that_is_too_long_says_how_to_narrow_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "MOST_CHARACTERS", 1_000)
    find = mcp_tools._answering(mcp_tools.Tools(Double()).find_series)  # type: ignore[arg-type]
    assert len(json.loads(find(limit=5))["series"]) == 5
    with pytest.raises(mcp_tools.ToolError, match="narrow the query"):
        find(limit=30)
