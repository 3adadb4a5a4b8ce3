from datetime import date
from pathlib import Path

import pytest

from app.domain.units import Quantity
from app.settings import (
    BudgetSettings,
    GateSettings,
    MetricSettings,
    OwnerSettings,
    PowerSettings,
    PriceSettings,
    ProjectSettings,
    ScheduleSettings,
    Settings,
    SuiteSettings,
    Thresholds,
    TrafficSettings,
    read_settings,
)

GOOD = Path(__file__).parents[2] / "data" / "settings" / "good"

MINIMAL = Settings(
    project=ProjectSettings("acme/vision", branch="main"),
    suites=(
        SuiteSettings(
            "inference",
            benchmarks=("benchmarks/bench_*.py",),
            command=None,
            output=None,
            format="json-lines",
            setup=(),
            env={},
            devices=("*",),
            devices_needed=1,
            on=("pull_request", "push"),
            paths=(),
            timeout_s=None,
            gate=None,
        ),
    ),
    gate=GateSettings(minimum_effect=0.005, tolerance=0.02, device_minutes=20.0, strict=False),
)

COMPLETE = Settings(
    project=ProjectSettings("acme/vision", branch="trunk"),
    suites=(
        SuiteSettings(
            "inference",
            benchmarks=("benchmarks/bench_*.py", "benchmarks/data/**"),
            setup=("pip install -e .", "make weights"),
            env={"OMP_NUM_THREADS": "1", "EMPTY": ""},
            devices=("nvidia-*", "cpu-*"),
            devices_needed=8,
            on=("pull_request", "push", "nightly", "weekly"),
            paths=("src/**", "setup.cfg"),
            timeout_s=5400.0,
            gate=("latency_p99", "peak_memory"),
        ),
        SuiteSettings("serving", command="python serve.py --load 20", output="out/results.jsonl", on=()),
    ),
    gate=GateSettings(minimum_effect=0.01, tolerance=0.03, device_minutes=0.5, strict=True),
    metrics=(
        MetricSettings("tokens_per_s", unit="tokens/s", better="higher", tolerance=0.05),
        MetricSettings("accuracy_drop", minimum_effect=0.0, tolerance=0.001),
    ),
    budgets=(
        BudgetSettings("serving", "latency_p99", max=Quantity(0.05, "s")),
        BudgetSettings("serving", "tokens_per_s", max=Quantity(1e6, "1/s"), min=Quantity(2000.0, "tokens/s")),
        BudgetSettings("resize", "mfu", min=Quantity(0.4, "1")),
    ),
    schedules=(ScheduleSettings("weekly", "30 4 * * SUN"), ScheduleSettings("nightly", "0 2 * * *")),
    owners=(
        OwnerSettings("src/vision/**", ("@alice", "@acme/performance")),
        OwnerSettings("src/io.py", ("@bob",)),
    ),
    prices=(
        PriceSettings("cpu-*", 0.0, "EUR", date(2026, 1, 31)),
        PriceSettings("nvidia-h100-*", 2.49, "USD", date(2026, 1, 31)),
    ),
    traffic=(
        TrafficSettings("serve_*", Quantity(2.5e9, "tokens"), date(2026, 2, 1), "nvidia-*"),
        TrafficSettings("resize", Quantity(40e6, "1"), date(2026, 2, 1)),
    ),
    power=PowerSettings(0.22, "EUR", date(2026, 1, 31), 1.3),
)


def read(name: str) -> Settings:
    return read_settings((GOOD / name).read_text(encoding="utf-8"))


def test_minimal_file_has_every_default():
    assert read("minimal.toml") == MINIMAL


def test_complete_file_sets_every_value():
    assert read("complete.toml") == COMPLETE


def test_every_layout_that_toml_allows_means_the_same():
    settings = read("layout.toml")
    first, second = settings.suites
    assert first.name == "inference"
    assert first.benchmarks == ("benchmarks/bench_*.py", "benchmarks/[a-z]*.py")
    assert first.setup[0].startswith("cat > config.toml")
    assert first.env == {"A": "1", "B": "}"}
    assert (second.name, second.command) == ("serving", 'echo "[" # no comment')
    assert second.env == {"HTTP_PROXY": ""}
    assert [budget.metric for budget in settings.budgets] == ["latency_p50", "peak_memory"]


def test_declared_nightly_schedule_replaces_the_built_in_one():
    text = (GOOD / "minimal.toml").read_text(encoding="utf-8")
    text += 'on = ["nightly"]\n[[schedule]]\nname = "nightly"\ncron = "15  3 * * *"\n'
    assert read_settings(text).schedules == (ScheduleSettings("nightly", "15 3 * * *"),)


def test_weekly_is_built_in_as_nightly_is():
    text = (GOOD / "minimal.toml").read_text(encoding="utf-8") + 'on = ["weekly"]\n'
    assert read_settings(text).schedules == (ScheduleSettings("weekly", "0 3 * * SUN"),)


def test_file_whose_suites_never_run_nightly_has_no_schedule():
    assert read("minimal.toml").schedules == ()


@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        ("latency_p50", Thresholds(0.01, 0.03)),
        ("tokens_per_s", Thresholds(0.01, 0.05)),
        ("accuracy_drop", Thresholds(0.0, 0.001)),
    ],
)
def test_metric_is_judged_by_its_own_thresholds_else_by_the_gates(metric, wanted):
    assert COMPLETE.thresholds(metric) == wanted


def test_thresholds_in_logarithms_are_those_of_one_plus_the_fraction():
    thresholds = GateSettings(minimum_effect=0.005, tolerance=0.02).thresholds
    assert thresholds.minimum_effect_ln == pytest.approx(0.0049875, abs=1e-7)
    assert thresholds.tolerance_ln == pytest.approx(0.0198026, abs=1e-7)


def test_device_time_is_also_given_in_seconds():
    assert GateSettings(device_minutes=0.5).device_s == 30.0


def with_sections(text: str) -> str:
    return f'[project]\nname = "a"\n[[suite]]\nname = "s"\ncommand = "true"\n{text}\n'


@pytest.mark.parametrize(
    "section",
    [
        "[[metric]]\nname = 'latency_p95'\ntolerance = '3%'",
        "[[metric]]\nname = 'tokens_per_sec'\nbetter = 'higher'",
        "[[metric]]\nname = 'words_per_s'\ntolerance = '3%'",
        "[[budget]]\nbenchmark = 'b'\nmetric = 'latency_p999'\nmax = '1 s'",
        "[[budget]]\nbenchmark = 'b'\nmetric = 'dropped_frames'\nmax = 3",
    ],
)
def test_metric_that_only_the_project_knows_is_taken_as_it_is(section: str) -> None:
    settings = read_settings(with_sections(section))
    assert len(settings.metrics) + len(settings.budgets) == 1


@pytest.mark.parametrize(
    ("metric", "limit", "value"),
    [
        ("latency_p99", "'50 ms'", 0.05),
        ("mfu", "'40%'", 0.4),
        ("goodput_per_s", "'2 k requests/s'", 2000.0),
        ("accuracy_drop", "0.01", 0.01),
        ("widget_time", "7", 7.0),
    ],
)
def test_budget_in_the_dimension_of_its_metric_is_taken(metric: str, limit: str, value: float) -> None:
    own = "[[metric]]\nname = 'widget_time'\nunit = 'widgets'\n"
    budget = f"[[budget]]\nbenchmark = 'b'\nmetric = '{metric}'\nmax = {limit}"
    (found,) = read_settings(with_sections(own + budget)).budgets
    assert found.max is not None
    assert found.max.value == value
