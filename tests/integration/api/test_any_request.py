"""Whatever is asked of the API, the answer is one that its document tells of, and never a fault of ours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.factories.conformance import check_answer, document
from tests.factories.histories import PROJECT
from tests.factories.posted_results import post_results, posted_document

pytestmark = pytest.mark.postgres

KNOWN = [PROJECT, "resize", "main", "upload-1", "latency_p50", "c" * 40, "c" * 7, "id,value", "all"]
"""Texts that are something here."""

TEXT = st.sampled_from(KNOWN) | st.text(max_size=20) | st.text("0123456789abcdef", min_size=7, max_size=64)
NUMBER = st.sampled_from([0, 1, 2, -1, 30, 2**31, 2**63, 10**30]) | st.integers() | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def resolved(found: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in found:
        return found
    _, _, section, name = found["$ref"].split("/")
    its: dict[str, Any] = document()["components"][section][name]
    return its


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that a schema asks for, and some that it does not."""
    its = resolved(schema)
    if "anyOf" in its:
        return st.one_of([values(one) for one in its["anyOf"]])
    if "enum" in its:
        return st.sampled_from(its["enum"]) | TEXT
    if its.get("type") == "array":
        return st.lists(values(its["items"]), max_size=3)
    if its.get("type") in ("integer", "number"):
        low = int(its.get("minimum", 0))
        return st.integers(low, low + 3) | NUMBER
    return st.booleans().map(str) if its.get("type") == "boolean" else TEXT


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    """Return a method, a path, and what goes with it, of one of the documented routes."""
    paths = [path for path in document()["paths"] if path.startswith("/api/v1/")]
    path = draw(st.sampled_from(paths))
    method = draw(st.sampled_from(sorted(document()["paths"][path])))
    operation = document()["paths"][path][method]
    query: dict[str, Any] = {}
    for parameter in map(resolved, operation.get("parameters", [])):
        if parameter["name"] == "wait" or not (parameter["required"] or draw(st.booleans())):
            continue
        value = draw(values(parameter["schema"]))
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", _as_segment(value))
        elif parameter["in"] == "query":
            query[parameter["name"]] = value
    options: dict[str, Any] = {"params": query}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        options["json"] = draw(_bodies(content.get("example", {})))
    return method, path, options


def _as_segment(value: Any) -> str:
    text = "".join(char for char in str(value) if char.isprintable() and char not in "/?#%\\.")
    return text or "1"


def _bodies(example: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return the example with some of its values exchanged, or anything."""
    others = st.dictionaries(st.sampled_from(sorted(example) or ["x"]), JSON, max_size=2)
    finite = others.map(lambda changed: example | changed)
    return (finite | JSON).map(_finite)


def _finite(found: Any) -> Any:
    """Return a value that JSON has."""
    if isinstance(found, float) and (found != found or found in (float("inf"), float("-inf"))):
        return None
    if isinstance(found, dict):
        return {key: _finite(value) for key, value in found.items()}
    return [_finite(value) for value in found] if isinstance(found, list) else found


@pytest.fixture
def ask(client, admin_token):
    post_results(client, admin_token, posted_document()).raise_for_status()
    headers = {"Authorization": f"Bearer {admin_token}"}
    return lambda method, path, options: client.request(method, path, headers=headers, **options)


@settings(
    max_examples=max(120, settings().max_examples // 2),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(request_=requests())
def test_answer_is_one_of_those_that_the_document_tells(ask, request_):
    try:
        response = ask(*request_)
    except UnicodeEncodeError:
        return  # half a character, which no client can send
    assert response.status_code < 500, response.text
    check_answer(response)
