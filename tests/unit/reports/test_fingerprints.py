from __future__ import annotations

from app.reports.fingerprints import FactGroup, fact_groups


def test_parts_come_in_order_with_values_in_units_that_people_read() -> None:
    found = fact_groups(
        {
            "soft": {"turbo": False, "uptime_s": 90.0, "environment": {"OMP_NUM_THREADS": "8"}},
            "machine": {"memory_b": 2**34, "threads": 8, "power_limit_w": 700.0, "gpus": ["a", "b"]},
            "unavailable": ["firmware", "max_clock_hz"],
        }
    )
    assert found == (
        FactGroup(
            "Machine: a change here begins an epoch",
            (("memory", "16 GiB"), ("threads", "8"), ("power limit", "700 W"), ("gpus", "a, b")),
        ),
        FactGroup(
            "Recorded, may move from run to run",
            (("turbo", "no"), ("uptime", "1.5 min"), ("environment.OMP_NUM_THREADS", "8")),
        ),
        FactGroup("Not told by this machine", (("missing", "firmware, max clock hz"),)),
    )


def test_what_is_missing_or_empty_is_left_out() -> None:
    assert fact_groups({"machine": {"a": None, "b": "", "c": [], "d": 0}}) == (
        FactGroup("Machine: a change here begins an epoch", (("d", "0"),)),
    )
    assert fact_groups({}) == ()


def test_fingerprint_of_an_unknown_form_is_shown_as_it_is() -> None:
    assert fact_groups({"chip": "x9", "machine": "none"}) == (
        FactGroup("Facts", (("chip", "x9"), ("machine", "none"))),
    )
