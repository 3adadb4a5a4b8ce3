"""The client of the commands: what cannot be sent is wrong usage, and no fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.errors import UsageError
from app.integrations.service_client import ServiceClient

SURROGATE = "\udcff"


def _exported(client: ServiceClient) -> None:
    with client.export({"project": SURROGATE}):
        pass


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(_exported, id="export"),
        pytest.param(lambda client: client.run(SURROGATE), id="a run"),
        pytest.param(lambda client: client.run_results(SURROGATE), id="a run's results"),
        pytest.param(lambda client: client.find_series({"q": SURROGATE}, 1), id="words"),
    ],
)
def test_text_that_is_none_is_no_question(ask: Callable[[ServiceClient], Any]) -> None:
    client = ServiceClient("http://127.0.0.1:9", None, patience_s=0)
    with pytest.raises(UsageError, match="this is no question that can be sent"):
        ask(client)
    client.close()
