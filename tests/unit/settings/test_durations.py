import pytest

from app.settings.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("20m", 1200),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h0m5s", 3605),
        ("0.5s", 0.5),
        ("1.5h", 5400),
    ],
)
def test_duration_is_read_in_seconds(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "m", "20 m", "20min", "30m1h", "1m1m", "-5s", "1e3s", "٣s", "1d"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="hours, minutes and seconds"):
        parse_duration(text)
