from dataclasses import replace
from pathlib import Path

import pytest

from app.settings import Settings, read_settings, settings_digest, suite_digest

TEXT = (Path(__file__).parents[2] / "data" / "settings" / "good" / "complete.toml").read_text(
    encoding="utf-8"
)


@pytest.fixture
def complete() -> Settings:
    return read_settings(TEXT)


def test_digest_is_64_hexadecimal_digits(complete):
    assert len(bytes.fromhex(settings_digest(complete))) == 32
    assert len(bytes.fromhex(suite_digest(complete, complete.suites[0]))) == 32


def test_comments_blanks_order_of_keys_and_spelling_leave_digests_alone(complete):
    text = TEXT.replace("\n", "  # remark\r\n").replace('"1h30m"', '"90m"').replace("[gate]", "\n\n[gate]")
    text = text.replace('name = "acme/vision"', "").replace("[project]", '[project]\nname = "acme/vision"')
    other = read_settings(text)
    assert settings_digest(other) == settings_digest(complete)
    assert suite_digest(other, other.suites[0]) == suite_digest(complete, complete.suites[0])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('branch = "trunk"', 'branch = "main"'),
        ("hour = 2.49", "hour = 2.50"),
        ('["@bob"]', '["@eve"]'),
        ("strict = true", "strict = false"),
        ('paths = ["src/**", "setup.cfg"]', 'paths = ["src/**"]'),
        ('"push", "nightly", "weekly"', '"push", "weekly"'),
        ('devices = ["nvidia-*", "cpu-*"]', 'devices = ["nvidia-*"]'),
        ("python serve.py --load 20", "python serve.py --load 30"),
    ],
)
def test_change_that_does_not_touch_a_suites_work_changes_the_settings_digest_only(complete, before, after):
    assert before in TEXT
    other = read_settings(TEXT.replace(before, after))
    assert settings_digest(other) != settings_digest(complete)
    assert suite_digest(other, other.suites[0]) == suite_digest(complete, complete.suites[0])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"make weights"', '"make all"'),
        ('OMP_NUM_THREADS = "1"', 'OMP_NUM_THREADS = "2"'),
        ("devices_needed = 8", "devices_needed = 4"),
        ('timeout = "1h30m"', ""),
        ('gate = ["latency_p99", "peak_memory"]', 'gate = ["latency_p99"]'),
        ('minimum_effect = "1%"', 'minimum_effect = "2%"'),
        ("device_minutes = 0.5", "device_minutes = 1"),
        ('better = "higher"', 'better = "lower"'),
        ('max = "50 ms"', 'max = "51 ms"'),
    ],
)
def test_change_that_touches_a_suites_work_changes_its_digest(complete, before, after):
    assert before in TEXT
    other = read_settings(TEXT.replace(before, after))
    assert suite_digest(other, other.suites[0]) != suite_digest(complete, complete.suites[0])


def test_suites_of_different_names_have_different_digests(complete):
    suite = complete.suites[0]
    assert suite_digest(complete, suite) != suite_digest(complete, replace(suite, name="other"))


def test_order_of_metrics_leaves_a_suites_digest_alone(complete):
    turned = replace(complete, metrics=complete.metrics[::-1])
    assert suite_digest(turned, turned.suites[0]) == suite_digest(complete, complete.suites[0])
