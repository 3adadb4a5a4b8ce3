"""What a start does when its agent has no device: it waits for its predecessor, and names anybody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.errors import UnavailableError
from app.local import stack as module
from app.local.agents import OtherAgent
from app.local.data_dir import DataDir
from app.local.stack import LocalStack, StackOptions


class FallenAgent:
    """An agent that found its device in use."""

    def __init__(self, falls: int = 0) -> None:
        self.falls = falls
        self.watched = 0

    def watch(self) -> None:
        self.watched += 1

    def last_words(self, _: int) -> str:
        return "ratchet-worker: the device cpu:0 belongs to another agent of this host"


@pytest.fixture
def stack(tmp_path: Path) -> LocalStack:
    return LocalStack(DataDir(tmp_path), StackOptions("127.0.0.1", 0), lambda _: None)


def there_are(monkeypatch: pytest.MonkeyPatch, *agents: OtherAgent) -> None:
    monkeypatch.setattr(module, "agents_of_this_host", lambda _: list(agents))


def await_device(stack: LocalStack, agent: FallenAgent) -> None:
    stack._await_device(agent)  # type: ignore[arg-type]


def test_predecessor_on_the_same_folder_is_waited_for(
    stack: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    there_are(monkeypatch, OtherAgent(7, str(stack.data.worker), "http://127.0.0.1:1"))
    agent = FallenAgent(falls=9)
    await_device(stack, agent)
    assert agent.watched == 1


def test_holder_that_is_gone_by_now_is_worth_one_more_try(
    stack: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    there_are(monkeypatch)
    agent = FallenAgent(falls=1)
    await_device(stack, agent)
    assert agent.watched == 1
    with pytest.raises(UnavailableError, match="belongs to another agent"):
        await_device(stack, FallenAgent(falls=2))


def test_other_service_is_named_with_the_ways_out(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    there_are(monkeypatch, OtherAgent(7, "/srv/other/worker", "http://127.0.0.1:8440"))
    agent = FallenAgent()
    with pytest.raises(UnavailableError) as caught:
        await_device(stack, agent)
    said = str(caught.value)
    assert (
        "in use by process 7, the agent of http://127.0.0.1:8440, with the data folder /srv/other/worker"
        in said
    )
    assert "RATCHET_URL=http://127.0.0.1:8440" in said
    assert "--worker none" in said
    assert (caught.value.code, agent.watched) == ("device_in_use", 0)
