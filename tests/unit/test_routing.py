"""What an endpoint waits for is found in its own thread, with a session that ends as the endpoint does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Annotated, Any
from unittest.mock import Mock

import pytest
from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.dependencies.utils import solve_dependencies
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient

from app.api.conditional import ReadingRoute
from app.api.deps import Body, get_principal
from app.api.errors import add_error_handlers
from app.api.routing import Asked, Found, Route, Router, in_one_thread
from app.domain.errors import AccessError, ConflictError, PayloadError, Problem, TooLargeError
from app.services.access import Principal


class Database:
    """Tells what became of its sessions."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def session(self) -> Iterator[str]:
        self.told.append(f"opened in {threading.current_thread().name}")
        try:
            yield "the session"
        except BaseException:
            self.told.append("rolled back")
            raise
        self.told.append("committed")

    @contextmanager
    def reading(self) -> Iterator[str]:
        yield "a reading session"


class Service:
    def __init__(self) -> None:
        self.database = Database()
        self.settings = SimpleNamespace(max_body_b=100)


def found_who(asked: Asked) -> str:
    name = asked.request.headers.get("x-name")
    asked.service.database.told.append(f"asked who: {name}")  # type: ignore[attr-defined]
    if name is None:
        raise AccessError("nobody asks", code="unauthenticated")
    return name


def found_greeting(asked: Asked) -> str:
    return f"{asked.of(found_who)}, by {asked.session}"


def followed(asked: Asked) -> None:
    told = asked.service.database.told  # type: ignore[attr-defined]
    asked.afterwards.append(lambda: told.append("afterwards"))


Followed = Annotated[None, Found(followed)]
Who = Annotated[str, Found(found_who)]
Greeting = Annotated[str, Found(found_greeting)]

router = Router()


@router.get("/greet/{times}")
def greet(who: Who, greeting: Greeting, times: int, loud: Annotated[bool, Query()] = False) -> dict[str, Any]:
    """Greet."""
    return {
        "who": who,
        "greeting": greeting,
        "times": times,
        "loud": loud,
        "in": threading.current_thread().name,
    }


@router.get("/refuse")
def refuse(request: Request, who: Who) -> None:
    """Refuse."""
    raise ConflictError(f"{who} came to {request.url.path} too late")


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    app = FastAPI()
    app.state.service = service
    add_error_handlers(app)
    app.include_router(router)
    with TestClient(app, headers={"x-name": "Ada"}) as client:
        yield client


def test_what_is_found_and_what_was_asked_reach_the_endpoint(client: TestClient) -> None:
    answer = client.get("/greet/3?loud=true").json()
    assert answer | {"in": ""} == {
        "who": "Ada",
        "greeting": "Ada, by the session",
        "times": 3,
        "loud": True,
        "in": "",
    }


def test_all_of_it_is_one_thread_and_each_is_looked_for_once(client: TestClient, service: Service) -> None:
    answer = client.get("/greet/1").json()
    assert service.database.told == [f"opened in {answer['in']}", "asked who: Ada", "committed"]


def test_what_an_endpoint_did_is_rolled_back_when_it_refuses(client: TestClient, service: Service) -> None:
    answer = client.get("/refuse")
    assert answer.status_code == 409
    assert "Ada came to /refuse too late" in answer.text
    assert service.database.told[-1] == "rolled back"


def test_a_stranger_is_told_that_before_what_is_wrong_with_the_question(client: TestClient) -> None:
    assert client.get("/greet/often").status_code == 422
    del client.headers["x-name"]
    assert client.get("/greet/often").status_code == 401


def test_the_document_has_the_parameters_that_are_asked_for_alone() -> None:
    app = FastAPI()
    app.include_router(router)
    operation = app.openapi()["paths"]["/greet/{times}"]["get"]
    assert [its["name"] for its in operation["parameters"]] == ["times", "loud"]


def test_a_route_of_a_route_waits_once() -> None:
    once = in_one_thread(greet)
    assert in_one_thread(once) is once
    assert Route("/greet/{times}", once).endpoint is once


def test_an_endpoint_that_is_wrapped_by_something_else_is_found_its_parameters_too(
    client: TestClient,
) -> None:
    def noted(endpoint: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(endpoint)
        def its(*args: Any, **given: Any) -> Any:
            return endpoint(*args, **given)

        return its

    others = Router()

    @others.post("/claim")
    @noted
    def claim(who: Who) -> str:
        return who

    app = client.app
    assert isinstance(app, FastAPI)
    app.include_router(others)
    assert client.post("/claim", json={"name": "somebody else"}).json() == "Ada"


def test_what_is_found_is_never_read_from_a_request() -> None:
    router = APIRouter()

    def claim(who: Annotated[Principal, Found(get_principal)]) -> str:
        return who.name

    with pytest.raises(
        TypeError, match=r"what get_principal finds is no part of a request.*app\.api\.routing\.Router"
    ):
        router.post("/claim")(claim)


def test_a_stranger_is_told_that_before_what_a_dependency_refuses(client: TestClient) -> None:
    others = Router()

    def unpacked() -> None:
        raise TooLargeError("too large")

    @others.get("/large", dependencies=[Depends(unpacked)])
    def large(who: Who) -> str:
        return who

    app = client.app
    assert isinstance(app, FastAPI)
    app.include_router(others)
    assert client.get("/large").status_code == 413
    del client.headers["x-name"]
    assert client.get("/large").status_code == 401


def test_what_follows_is_done_when_the_session_has_committed(client: TestClient, service: Service) -> None:
    others = Router()

    @others.get("/follow")
    def follow(_then: Followed) -> None: ...

    app = client.app
    assert isinstance(app, FastAPI)
    app.include_router(others)
    client.get("/follow")
    assert service.database.told[-2:] == ["committed", "afterwards"]


def coming_who(asked: Asked) -> Callable[[], str]:
    def who() -> str:
        return found_who(asked)

    asked.admissions.append(who)
    return who


ComingWho = Annotated[Callable[[], str], Found(coming_who)]

late = Router()


@late.post("/late")
def post_late(who: ComingWho, body: Body) -> PlainTextResponse:
    """Find out who asks after looking at what was sent."""
    if body == b"nonsense":
        raise PayloadError([Problem("body", "nonsense", "nonsense")])
    if body == b"trouble":
        raise RuntimeError("trouble")
    return PlainTextResponse("nobody asked" if body == b"careless" else f"{who()} sent {body.decode()}", 201)


@late.get("/twice")
def get_twice(who: ComingWho, times: int) -> str:
    """Take what only the framework reads."""
    return " ".join([who()] * times)


@pytest.fixture
def late_client(client: TestClient) -> TestClient:
    app = client.app
    assert isinstance(app, FastAPI)
    app.include_router(late)
    return client


def test_who_asks_may_be_found_out_with_the_first_trip(late_client: TestClient) -> None:
    answer = late_client.post("/late", content="numbers")
    assert (answer.status_code, answer.text) == (201, "Ada sent numbers")
    assert late_client.get("/twice?times=2").json() == "Ada Ada"


@pytest.mark.parametrize("body", ["numbers", "nonsense", "careless", "trouble"])
def test_a_stranger_is_told_that_whatever_else_is_wrong(
    late_client: TestClient, service: Service, body: str
) -> None:
    del late_client.headers["x-name"]
    assert late_client.post("/late", content=body).status_code == 401
    assert "committed" not in service.database.told


def test_what_is_wrong_with_it_is_told_to_whoever_may_ask(late_client: TestClient) -> None:
    assert late_client.post("/late", content="nonsense").status_code == 422
    assert late_client.get("/twice?times=often").status_code == 422
    assert late_client.post("/late", content=b"x" * 101).status_code == 413


def test_an_endpoint_that_takes_only_what_is_ours_is_called_without_the_framework(
    late_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(side_effect=solve_dependencies)
    monkeypatch.setattr("fastapi.routing.solve_dependencies", asked)
    late_client.post("/late", content="numbers")
    assert not asked.called
    late_client.get("/twice?times=2")
    assert asked.called


def test_a_route_that_only_reads_has_a_session_without_transaction(
    client: TestClient, service: Service
) -> None:
    reading = Router(route_class=ReadingRoute)

    @reading.get("/read")
    def read(greeting: Greeting) -> str:
        return greeting

    app = client.app
    assert isinstance(app, FastAPI)
    app.include_router(reading)
    assert client.get("/read").json() == "Ada, by a reading session"
    assert service.database.told == ["asked who: Ada"]
    with pytest.raises(TypeError, match="/write only reads, and takes POST"):
        reading.post("/write")(read)


def test_nothing_waits_in_a_coroutine() -> None:
    async def hurry(who: Who) -> str:
        return who

    with pytest.raises(TypeError, match="hurry waits for who, and is a coroutine; write `def`"):
        in_one_thread(hurry)
