"""A job with a stranger's head, carried out by a real agent: in a sandbox, and what comes of it is as always."""

import pytest

from tests.factories.sandbox import needs_sandbox
from tests.integration.worker.bench import ADD, Repository, job, make_agent
from tests.integration.worker.service_double import ServiceDouble

pytestmark = needs_sandbox

PLAIN = {"benchmarks/bench_add.py": ADD}


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "a repository")


def untrusted(repository, base, head, **suite):
    fields = {"sandbox": 2, "benchmarks_from": suite.pop("benchmarks_from", "head")}
    return job(repository, base, head, **suite).model_copy(update=fields)


def carried_out(service, folder):
    make_agent(service, folder).run()
    return service


def test_agent_tells_its_level_and_measures_both_arms_in_the_sandbox(repository, tmp_path):
    base, head = repository.commit(PLAIN), repository.commit(PLAIN | {"x": "y"})
    service = carried_out(ServiceDouble(untrusted(repository, base, head)), tmp_path)
    assert service.registered[0].sandbox == 2
    assert service.finish.outcome == "ok", service.finish
    assert {(i.arm, i.status) for i in service.invocations} == {("base", "ok"), ("head", "ok")}
    assert {case.status for case in service.measured()} == {"ok"}
