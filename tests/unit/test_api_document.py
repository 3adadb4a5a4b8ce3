"""The OpenAPI document: nothing of a public route is left unsaid."""

from __future__ import annotations

import re

import pytest

from app.api.answers.shape import kinds
from tests.factories.conformance import document, kind_of

OPERATIONS = [
    pytest.param(path, method, operation, id=f"{method} {path}")
    for path, operations in document()["paths"].items()
    for method, operation in operations.items()
]
TOLD = [one for one in OPERATIONS if one.values[0].startswith("/api/v1/")]


def resolved(found):
    """Return what a reference stands for."""
    if "$ref" not in found:
        return found
    _, _, section, name = found["$ref"].split("/")
    return document()["components"][section][name]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_route_says_what_it_does_and_takes(path, method, operation):
    assert re.fullmatch(r"[A-Z].{5,120}", operation["summary"])
    parameters = [resolved(one) for one in operation.get("parameters", [])]
    assert [one["name"] for one in parameters if not one.get("description")] == []
    assert {one["name"] for one in parameters if one["in"] == "path"} == set(re.findall(r"{(\w+)}", path))


@pytest.mark.parametrize(("path", "method", "operation"), TOLD)
def test_example_of_an_answer_is_what_its_schema_says(path, method, operation):
    good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    assert good
    for answer in good:
        (media_type,) = answer["content"]
        if media_type == "application/json":
            content = answer["content"][media_type]
            kind_of(content["schema"]["$ref"]).model_validate(content["example"])


def keys_within(found):
    """Return the keys of all objects in a document."""
    if isinstance(found, dict):
        return found.keys() | set().union(*map(keys_within, found.values()))
    return set().union(*map(keys_within, found)) if isinstance(found, list) else set()


@pytest.mark.parametrize(("path", "method", "operation"), TOLD)
def test_example_of_chosen_keys_names_some_of_the_answers(path, method, operation):
    parameters = [resolved(one) for one in operation.get("parameters", [])]
    examples = [
        example for one in parameters if one["name"] == "fields" for example in one["schema"]["examples"]
    ]
    answer = keys_within(operation["responses"].get("200"))
    assert all(set(example.split(",")) <= answer for example in examples)


@pytest.mark.parametrize(("path", "method", "operation"), TOLD)
def test_errors_of_a_route_are_told(path, method, operation):
    responses = operation["responses"]
    wanted = {"401", "403", "422", "503"} | ({"304"} if method == "get" else set())
    assert wanted <= responses.keys()
    assert "404" in responses or "{" not in path
    for status, answer in responses.items():
        if status[0] in "45":
            assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorAnswer")


@pytest.mark.parametrize(("path", "method", "operation"), TOLD)
def test_body_has_a_schema_and_an_example(path, method, operation):
    if method == "post" and not path.endswith(
        ("/cancel", "/release", "/test", "/pause", "/resume", "/remove")
    ):
        (content,) = operation["requestBody"]["content"].values()
        assert not content or resolved(content["schema"])["properties"].keys() >= content["example"].keys()


def test_every_key_of_every_answer_is_described():
    for name in {kind.__name__ for kind in kinds()} & document()["components"]["schemas"].keys():
        properties = document()["components"]["schemas"][name]["properties"]
        assert [key for key, its in properties.items() if not its.get("description")] == [], name


def test_reference_leads_nowhere_but_into_the_document():
    for reference in set(re.findall(r"'\$ref': '([^']+)'", str(document()))):
        assert resolved({"$ref": reference}), reference


def test_objects_whose_keys_are_chosen_need_none():
    schemas = document()["components"]["schemas"]
    chosen = {"ListedSeriesAnswer", "ProjectChangeAnswer", "ChangeAnswer", "RunAnswer", "TrendPointsAnswer"}
    assert [name for name in chosen if "required" in schemas[name]] == []
    assert "required" in schemas["SeriesAnswer"]


def test_protocol_of_agents_and_the_door_of_the_forge_are_none_of_it():
    assert not [path for path in document()["paths"] if path.startswith(("/api/v1/worker", "/webhooks"))]
