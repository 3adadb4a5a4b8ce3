"""Every section and key of a `ratchet.toml`, as data: the one table that reading and documentation come from.

A key's default is that of its field in `values.py`; a field without one makes the key required.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from typing import Any

from app.settings import key_types as t
from app.settings.values import (
    COMMENTS,
    FORMATS,
    BudgetSettings,
    GateSettings,
    MetricSettings,
    OwnerSettings,
    PowerSettings,
    PriceSettings,
    ProjectSettings,
    ScheduleSettings,
    SuiteSettings,
    TrafficSettings,
)

REQUIRED = MISSING
"""Stands where a key has no default."""


class Shape(Enum):
    """How often a section may stand in a file, and who chooses its keys."""

    TABLE = "table"
    """Once, with fixed keys: `[gate]`."""
    ARRAY = "array"
    """Any number of times, with fixed keys: `[[suite]]`."""
    NAMED = "named"
    """Tables with names of the writer's choice and fixed keys: `[prices."nvidia-*"]`."""
    MAPPING = "mapping"
    """Once, with keys of the writer's choice and values of one type: `[owners]`."""


@dataclass(frozen=True)
class Key:
    """One key: `absent` says in words what its default means, `field` is its name in `values.py`."""

    name: str
    type: t.KeyType
    meaning: str
    absent: str = ""
    field: str = ""

    @property
    def attribute(self) -> str:
        """The field of the section's values that this key sets."""
        return self.field or self.name


@dataclass(frozen=True)
class Section:
    """One section: its keys, and the class of its values.

    `chosen` is what the writer names in NAMED and MAPPING; a MAPPING's one key is the type of its values.
    `labelled_by` is the key that tells the tables of an ARRAY apart in messages. `example` completes
    "write …" where a section is missing that no file can do without.
    """

    name: str
    shape: Shape
    meaning: str
    values: type[Any]
    keys: tuple[Key, ...]
    chosen: Key | None = None
    labelled_by: str = ""
    example: str = ""

    @property
    def header(self) -> str:
        """The section as a file opens it: `[gate]`, `[[suite]]`."""
        return f"[[{self.name}]]" if self.shape is Shape.ARRAY else f"[{self.name}]"

    def default(self, key: Key) -> Any:
        """Return the value of `key` when it is left out, or REQUIRED."""
        field: Field[Any] = next(f for f in fields(self.values) if f.name == key.attribute)
        return field.default if field.default_factory is MISSING else field.default_factory()

    @property
    def required(self) -> tuple[Key, ...]:
        """The keys that cannot be left out, the writer's choice among them."""
        keys = (self.chosen, *self.keys) if self.chosen else self.keys
        return tuple(key for key in keys if self.default(key) is REQUIRED)


PROJECT = Section(
    "project",
    Shape.TABLE,
    "Which repository this is. Required.",
    ProjectSettings,
    (
        Key(
            "name",
            t.PROJECT,
            "The project's name, as pages and commands show it: usually `owner/repository`.",
        ),
        Key(
            "branch",
            t.BRANCH,
            "The branch whose commits make the history; pull requests are held against it.",
        ),
        Key(
            "comment",
            t.choice(*COMMENTS),
            "When a pull request is commented on: where something got better or worse, always, or never.",
        ),
    ),
    example='[project] with name = "owner/repository"',
)

SUITE = Section(
    "suite",
    Shape.ARRAY,
    "A named group of benchmarks. At least one; no two of one name.",
    SuiteSettings,
    (
        Key("name", t.NAME, "The suite's name. A command that names no benchmark reports under it."),
        Key(
            "benchmarks",
            t.BENCHMARK_FILES,
            "Files that the harness measures: those named `bench_*.py` hold benchmarks, "
            "the others that match travel along as their helpers.",
            absent="either this or `command`",
        ),
        Key(
            "command",
            t.COMMAND,
            "A program that measures by itself, run by the shell once per invocation. "
            "Its wall time is its metric if it writes no results.",
            absent="either this or `benchmarks`",
        ),
        Key(
            "output",
            t.FILE,
            "The file that `command` writes its results to.",
            absent="the file named by the environment variable `RATCHET_RESULT_FILE`",
        ),
        Key(
            "format", t.choice(*FORMATS), "How `command` writes its results. `json-lines`: one object a line."
        ),
        Key(
            "setup",
            t.COMMANDS,
            "Shell commands that make the environment of a commit, run in order in its check-out.",
            absent="nothing to install",
        ),
        Key(
            "env",
            t.ENVIRONMENT,
            "Environment variables of set-up and measurement, usually written as `[suite.env]`.",
            absent="none",
        ),
        Key(
            "devices",
            t.DEVICE_GLOBS,
            "The device classes to measure on; each class that matches gets its own job.",
        ),
        Key("devices_needed", t.DEVICE_COUNT, "How many devices of one worker a job holds at once."),
        Key(
            "on",
            t.TRIGGERS,
            "What starts the suite by itself: `pull_request`, `push` (to the project's branch), `nightly`, "
            "`weekly`, or the name of a `[[schedule]]`. An empty list: it is measured by hand only.",
        ),
        Key(
            "paths",
            t.PATH_GLOBS,
            "The suite starts by itself only when a file that matches has changed. `src/` means `src/**`.",
            absent="whatever changed",
        ),
        Key(
            "timeout",
            t.DURATION,
            "The longest time that one invocation may take, at most 24 h.",
            absent="10 × the base's median, at least 300 s, as far as the device time goes",
            field="timeout_s",
        ),
        Key(
            "gate",
            t.METRICS,
            "The metrics that can fail a check; the others are shown as exploratory.",
            absent="`latency_p50` and `peak_memory`; of a command, the first metric that it reports",
        ),
    ),
    labelled_by="name",
    example='[[suite]] with name = "inference" and benchmarks = "benchmarks/bench_*.py"',
)

GATE = Section(
    "gate",
    Shape.TABLE,
    "What fails a check.",
    GateSettings,
    (
        Key("minimum_effect", t.EFFECT, "Nothing smaller fails a check."),
        Key(
            "tolerance",
            t.EFFECT,
            "`no_regression` excludes everything worse than this; above `minimum_effect`.",
        ),
        Key(
            "device_minutes",
            t.DEVICE_MINUTES,
            "Device time per suite, device class and check, in minutes. From the third on, no block of pairs is begun "
            "that would not fit into what is left of it; what is open in the end stays `inconclusive`.",
        ),
        Key(
            "strict",
            t.FLAG,
            "Whether a pull request's check run fails, too, when it could not be measured or stays inconclusive; "
            "the exit status of `ratchet check` stays what it is.",
        ),
    ),
)

METRIC = Section(
    "metric",
    Shape.ARRAY,
    "A metric of the project's own, or what is to differ for a known one. No two of one name.",
    MetricSettings,
    (
        Key("name", t.METRIC, "The metric's name, as benchmarks report it."),
        Key(
            "unit",
            t.UNIT,
            "Its unit. One that Ratchet does not know is shown as it is.",
            absent="as reported",
        ),
        Key("better", t.choice("lower", "higher"), "Which direction is good.", absent="as reported"),
        Key("minimum_effect", t.EFFECT, "In place of the gate's, for this metric.", absent="the gate's"),
        Key("tolerance", t.EFFECT, "In place of the gate's, for this metric.", absent="the gate's"),
    ),
    labelled_by="name",
)

BUDGET = Section(
    "budget",
    Shape.ARRAY,
    "An absolute limit, beside the relative ones; a check whose head breaks it regresses.",
    BudgetSettings,
    (
        Key("benchmark", t.BENCHMARK, "The benchmark that the limit is for."),
        Key("metric", t.METRIC, "The metric that is limited."),
        Key(
            "max",
            t.QUANTITY,
            "The largest value allowed. A plain number is one without unit.",
            absent="no limit",
        ),
        Key(
            "min",
            t.QUANTITY,
            "The smallest value allowed. A plain number is one without unit.",
            absent="no limit",
        ),
    ),
)

SCHEDULE = Section(
    "schedule",
    Shape.ARRAY,
    "A time that suites run at, by its name in their `on`. No two of one name.",
    ScheduleSettings,
    (
        Key("name", t.NAME, "The schedule's name; not `pull_request` or `push`."),
        Key("cron", t.CRON, "Minute, hour, day of month, month and day of week, in UTC."),
    ),
    labelled_by="name",
)

OWNERS = Section(
    "owners",
    Shape.MAPPING,
    "Who is asked about which part of the repository.",
    OwnerSettings,
    (Key("people", t.PEOPLE, "The people or teams to ask."),),
    chosen=Key("paths", t.PATH_GLOB, "A glob of paths, in quotes; `src/` means `src/**`."),
)

PRICES = Section(
    "prices",
    Shape.NAMED,
    "What a device costs, so that pages can show money beside time.",
    PriceSettings,
    (
        Key("hour", t.PRICE, "The price of one device for an hour."),
        Key("currency", t.CURRENCY, "The currency's three letters, as ISO 4217 has them."),
        Key("date", t.DATE, "The day that the price was valid on."),
    ),
    chosen=Key("devices", t.DEVICE_GLOB, "A glob of device classes, in quotes."),
)

TRAFFIC = Section(
    "traffic",
    Shape.ARRAY,
    "How much of what a benchmark stands for is done in earnest, so that a change can be told in money a month.",
    TrafficSettings,
    (
        Key(
            "benchmark",
            t.BENCHMARK_NAMES,
            "A glob of benchmarks; each case of one that matches does so much.",
        ),
        Key(
            "per_day",
            t.AMOUNT,
            "What is done a day: so many calls of the benchmark, or, with a unit, so many tokens, samples or requests.",
        ),
        Key("date", t.DATE, "The day that this was so."),
        Key("devices", t.DEVICE_GLOB, "A glob of the device classes that it is done on."),
    ),
    labelled_by="benchmark",
)

POWER = Section(
    "power",
    Shape.TABLE,
    "What energy costs, where that is not in the prices of the devices.",
    PowerSettings,
    (
        Key("kwh", t.PRICE, "The price of a kilowatt-hour."),
        Key("currency", t.CURRENCY, "The currency's three letters, as ISO 4217 has them."),
        Key("date", t.DATE, "The day that the price was valid on."),
        Key("pue", t.PUE, "How much the building draws for each kilowatt-hour that its devices do."),
    ),
)

SECTIONS = (PROJECT, SUITE, GATE, METRIC, BUDGET, SCHEDULE, OWNERS, PRICES, TRAFFIC, POWER)

COSTS = (PRICES, TRAFFIC, POWER)
"""What a file of the installation's own may say beside a repository's."""


def homes_of(key_name: str) -> str:
    """Return the sections that have a key of this name, as a message lists them: `[gate] or [[metric]]`."""
    homes = (s.header for s in SECTIONS if any(key.name == key_name for key in s.keys))
    return " or ".join(homes)
