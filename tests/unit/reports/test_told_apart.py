"""Names lose what all have in common, by whole words, and stay apart."""

from __future__ import annotations

import pytest

from app.reports.told_apart import told_apart


@pytest.mark.parametrize(
    ("names", "common", "left"),
    [
        (["a.Time.x[n=1] p50", "a.Time.x[n=2] p50"], "a.Time.x[…] p50", ["…n=1…", "…n=2…"]),
        (["a.Time.save p50", "a.Time.sort p50"], "a.Time.… p50", ["…save…", "…sort…"]),
        (["bench[x=1.5] p50", "bench[x=1.25] p50"], "bench[…] p50", ["…x=1.5…", "…x=1.25…"]),
        (["resize energy", "resize latency"], "resize …", ["…energy", "…latency"]),
        (["resize[batch=1]", "rescale[batch=1]"], "…[batch=1]", ["resize…", "rescale…"]),
        (["s.Time.x[n=1] p50", "s.Time.y[n=1] p50"], "s.Time.…[n=1] p50", ["…x…", "…y…"]),
        (["s.Time.x[n=1] p50", "s.Time.y[n=2] p50"], "s.Time.… p50", ["…x[n=1]…", "…y[n=2]…"]),
        (["s.Time.x[n=1] p50", "s.Time.x[n=2] p99"], "s.Time.x…", ["…[n=1] p50", "…[n=2] p99"]),
        (["suite.x p50", "suite.x[n=1] p50"], "suite.… p50", ["…x…", "…x[n=1]…"]),
    ],
)
def test_what_all_have_in_common_is_said_once(names: list[str], common: str, left: list[str]) -> None:
    told = told_apart(names)
    assert told is not None
    assert (told.common, list(told.names)) == (common, left)


@pytest.mark.parametrize(
    "names",
    [["resize p50"], ["resize p50", "resize p50"], ["resize", "decode"], ["a b", "a b c"], ["", "suite.x"]],
)
def test_names_without_enough_in_common_stay_whole(names: list[str]) -> None:
    assert told_apart(names) is None
