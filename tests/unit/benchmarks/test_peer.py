"""The nearest peer beside us: what is said where it is not there, and what two numbers are to each other."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchmarks.peer.installation as installation
from benchmarks.__main__ import main
from benchmarks.figure import Beside


def test_a_peer_that_cannot_be_installed_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RATCHET_BENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(installation, "find_uv", lambda: "/bin/false")
    main(["peer"])
    told = capsys.readouterr().out
    assert "skipped: Conbench cannot be installed: uv ended with 1" in told
    assert list(tmp_path.iterdir()) == []


def test_everything_that_is_installed_has_one_version() -> None:
    lines = installation.REQUIREMENTS.read_text().splitlines()
    assert all(line.count("==") == 1 for line in lines if not line.startswith("#"))
    assert installation.version() in "\n".join(lines)


@pytest.mark.parametrize(("ours", "mark"), [(2.0, "kept"), (5.0, "UNDER")])
def test_a_ratio_is_kept_where_ours_is_so_many_times_less(ours: float, mark: str) -> None:
    line = Beside("a post", ours, 10.0, 4, "ms").line()
    assert line.endswith(mark)
    assert f"{10 / ours:.1f} times less, wanted 4" in line
