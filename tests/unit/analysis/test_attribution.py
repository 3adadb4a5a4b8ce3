from app.analysis.attribution import Seen, attribute


def seen(arm, n, gate=None, held=0):
    return [Seen(arm, [gate] if i < held else []) for i in range(n)]


def test_a_limit_that_only_head_reaches_is_told_with_its_counts():
    (told,) = attribute(seen("base", 12, "power_cap", 0) + seen("head", 12, "power_cap", 12))
    assert (
        told == "power_limited: head held back by the power limit (invocations: head 12 of 12, base 0 of 12)"
    )


def test_a_limit_that_both_reach_is_told_of_both():
    (told,) = attribute(seen("base", 4, "thermal", 4) + seen("head", 4, "thermal", 3))
    assert told.startswith("thermally_limited: head and base held back by heat")


def test_what_happened_now_and_then_explains_nothing():
    assert attribute(seen("base", 10, "power_cap", 4) + seen("head", 10, "power_cap", 4)) == []


def test_hard_gates_are_no_attribution():
    assert attribute(seen("head", 4, "foreign_process", 4)) == []


def test_a_run_of_head_alone_is_told_too():
    (told,) = attribute(seen("head", 2, "low_clock", 2))
    assert "base 0 of 0" in told


def test_nothing_measured_is_no_attribution():
    assert attribute([]) == []
