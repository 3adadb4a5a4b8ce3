"""Which values a void invocation spoils."""

import pytest

from app.services.voids import is_void, is_wholly_void
from app.store.repositories.runs import ArmValue
from app.store.tables import Invocation

BUSY = "host_cpu: other programs kept 1.7 processors busy; 0.5 may be"
STOLEN = "host_steal: the hypervisor took 5.0% of the processors' time; 2% may be"


def value(reason, metric="latency_p50", *, net=False, void=True):
    return ArmValue(
        case_id=1,
        pair_index=0,
        block=0,
        position=0,
        arm="base",
        status="ok",
        reason="",
        value=None if metric is None else 1.0,
        metric=metric,
        void=void,
        void_reason=reason,
        invocation_id=1,
        k=1,
        timer_resolution_s=1e-9,
        is_net=net,
    )


@pytest.mark.parametrize(
    "metric", ["latency_p50", "peak_memory", "samples_per_s", "a_metric_of_ones_own", None]
)
def test_a_gate_spoils_every_value_of_its_invocation(metric):
    assert is_void(value(STOLEN, metric, net=metric is not None))


def test_a_busy_processor_spoils_a_time_of_which_it_is_not_known_what_others_took():
    assert is_void(value(BUSY))


def test_a_busy_processor_leaves_a_time_without_what_others_took():
    assert not is_void(value(BUSY, net=True))


def test_a_busy_processor_leaves_what_is_compared_exactly():
    assert not is_void(value(BUSY, "recompiles"))


def test_a_busy_processor_spoils_a_metric_that_nobody_knows():
    assert is_void(value(BUSY, "a_metric_of_ones_own"))


def test_a_failure_beside_a_busy_processor_does_not_count_as_one():
    assert is_void(value(BUSY, None))


@pytest.mark.parametrize("reason", [None, "", "host_cpu_of_another_kind: words"])
def test_a_void_value_without_a_known_reason_is_spoilt(reason):
    assert is_void(value(reason, net=True))


def test_a_value_that_is_not_void_stands_whatever_else_is_said_of_it():
    assert not is_void(value(STOLEN, void=False))


@pytest.mark.parametrize(
    ("void", "reason", "wholly"),
    [(False, None, False), (True, STOLEN, True), (True, None, True), (True, BUSY, False)],
)
def test_only_a_busy_processor_leaves_something_of_a_void_invocation(void, reason, wholly):
    assert is_wholly_void(Invocation(void=void, void_reason=reason)) is wholly
