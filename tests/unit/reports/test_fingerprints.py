from __future__ import annotations

from app.reports.fingerprints import FactChange, FactGroup, fact_changes, fact_groups


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


def test_what_differs_is_told_fact_by_fact_and_by_parts() -> None:
    before = {
        "machine": {"kernel": "6.8.0", "firmware": "F1", "memory_b": 2**34},
        "soft": {"uptime_s": 90.0},
        "unavailable": ["driver"],
    }
    after = {
        "machine": {"kernel": "6.9.1", "driver": "570", "memory_b": 2**34, "firmware": None},
        "soft": {"uptime_s": 120.0},
        "unavailable": ["firmware"],
    }
    machine, soft, packages = fact_changes(before, after, ({"numpy": "2.0"}, {"numpy": "2.1"}))
    assert machine.changes == (
        FactChange("driver", None, "570"),
        FactChange("firmware", "F1", None),
        FactChange("kernel", "6.8.0", "6.9.1"),
    )
    assert [change.kind for change in machine.changes] == ["new", "gone", "changed"]
    assert (soft.may_move, soft.changes) == (True, (FactChange("uptime", "1.5 min", "2 min"),))
    assert (packages.title, packages.changes) == ("Packages", (FactChange("numpy", "2.0", "2.1"),))


def test_nothing_differs_between_equal_fingerprints_of_any_form() -> None:
    for its in ({}, {"chip": "x9", "deep": {"down": [1, 2]}}, {"machine": {"a": 1}, "unavailable": ["b"]}):
        assert fact_changes(its, its) == ()


def test_what_would_look_the_same_is_told_as_it_is() -> None:
    (group,) = fact_changes({"memory_b": 66_571_993_088}, {"memory_b": 66_571_993_087})
    assert group.changes == (FactChange("memory", "66571993088", "66571993087"),)


def test_facts_deep_in_an_object_are_named_by_their_way() -> None:
    (group,) = fact_changes({"packages": {"torch": "2.5.0"}}, {"packages": {"torch": "2.5.1", "triton": "3"}})
    assert [change.name for change in group.changes] == ["packages.torch", "packages.triton"]
