"""Every wrong file of `tests/data/settings/bad`, and what its author is told, line by line."""

from pathlib import Path

import pytest

from app.domain.errors import SettingsError
from app.settings import read_settings

BAD = Path(__file__).parents[2] / "data" / "settings" / "bad"

REFUSALS = {
    "metrics": [
        (
            '9: `name` in [[metric]] "latency_p5O": there is no metric of this name — did you mean '
            '"latency_p50"? If it is one of your own, give its `unit` or `better`'
        ),
        (
            '18: `metric` in [[budget]] number 1: there is no metric "peak_memroy" — did you mean '
            '"peak_memory"? If it is one of your own, add a [[metric]] with its `unit` or `better`'
        ),
        (
            '23: `metric` in [[budget]] number 2: there is no metric "sentences_per_sec" — did you mean '
            '"sentences_per_s"? If it is one of your own, add a [[metric]] with its `unit` or `better`'
        ),
        (
            '29: `max` in [[budget]] number 3: expected a limit in "B", the unit of "peak_memory", such as '
            '"2 GiB", found 50 ms'
        ),
        (
            '34: `min` in [[budget]] number 4: expected a number without unit such as 0.5, as "mfu" is a '
            "number, found 4 GiB"
        ),
        (
            '39: `max` in [[budget]] number 5: expected a limit in "currency", the unit of "cost_per_sample", '
            'such as "0.02 EUR", found 1 s'
        ),
    ],
    "contradictions": [
        '7: [[suite]] "inference" has `benchmarks` (line 6) and `command` (line 7); keep one of them',
        '12: `output` in [[suite]] "training" is for a `command`, but the suite has `benchmarks`',
        '13: `on[1]` in [[suite]] "training": there is no trigger "nigthly" — did you mean "nightly"?',
        (
            '13: `on[2]` in [[suite]] "training": there is no trigger "sometimes"; known: '
            '"pull_request", "push", "nightly", "weekly"; any other needs a [[schedule]] of its name'
        ),
        (
            '17: `timeout` below [suite.env] of [[suite]] "training" is an environment variable; '
            "move it above [suite.env] to set the suite's `timeout`"
        ),
        '20: two [[suite]] are named "inference", in lines 5 and 20; give each its own name',
        "24: [gate]: `tolerance` (2%, the default) must be larger than `minimum_effect` (3%)",
        (
            '29: [[metric]] "tokens_per_s": `tolerance` (1%) must be larger than `minimum_effect` '
            "(3%, the gate's)"
        ),
        '32: two [[metric]] are named "tokens_per_s", in lines 27 and 32; give each its own name',
        '34: [[budget]] number 1 sets neither `max` nor `min`; write one, such as max = "50 ms"',
        "42: [[budget]] number 2: no value is at most 50 ms (`max`) and at least 1 s (`min`)",
        (
            '47: `max` in [[budget]] number 3: expected a limit in "tokens/s", the unit of '
            '[[metric]] "tokens_per_s", such as "100 tokens/s", found 50 ms'
        ),
        '50: [[schedule]] "push" has the name of an event that starts suites; give it another',
    ],
    "empty": [
        (
            '1: the file is empty; write [project] with name = "owner/repository", and [[suite]] '
            'with name = "inference" and benchmarks = "benchmarks/bench_*.py"'
        ),
    ],
    "key_twice": [
        '3: not valid TOML at column 20: Cannot overwrite a value; the line reads `name = "acme/sound"`',
    ],
    "missing_keys": [
        '1: [project] has no `name`: expected a name such as "owner/repository"',
        '3: [[suite]] number 1 has no `name`: expected a name such as "inference"',
        (
            '6: [[suite]] "serving" has neither `benchmarks` (files that the harness measures) '
            "nor `command` (a program that measures by itself); write one of them"
        ),
        '9: [[metric]] number 1 has no `name`: expected the name of a metric such as "latency_p50"',
        '11: [[budget]] number 1 has no `benchmark`: expected the name of a benchmark such as "resize"',
        '11: [[budget]] number 1 sets neither `max` nor `min`; write one, such as max = "50 ms"',
        '14: [[schedule]] "hourly" has no `cron`: expected five fields of cron such as "0 2 * * *"',
        ('17: [prices."nvidia-*"] has no `currency`: expected the three letters of a currency such as "USD"'),
        '17: [prices."nvidia-*"] has no `date`: expected a date such as 2026-01-31',
    ],
    "misspelt_keys": [
        "3: unknown key `brunch` in [project] — did you mean `branch`?",
        '7: unknown key `benchmark` in [[suite]] "inference" — did you mean `benchmarks`?',
        "10: unknown key `nmae` in [[suite]] number 2 — did you mean `name`?",
        (
            "12: unknown key `color` in [[suite]] number 2; known keys: name, benchmarks, "
            "command, output, format, setup, env, devices, devices_needed, on, paths, timeout, "
            "gate"
        ),
        "13: unknown key `tolerance` in [[suite]] number 2; it belongs in [gate] or [[metric]]",
    ],
    "misspelt_sections": [
        "1: unknown key `strict`; it belongs in [gate]",
        (
            "2: unknown key `version`; known sections: [project], [[suite]], [gate], [[metric]], "
            "[[budget]], [[schedule]], [owners], [prices], [[traffic]], [power]"
        ),
        "4: unknown section `projct` — did you mean [project]?",
        "7: unknown section `suites` — did you mean [[suite]]?",
        (
            "10: unknown section `extra`; known sections: [project], [[suite]], [gate], "
            "[[metric]], [[budget]], [[schedule]], [owners], [prices], [[traffic]], [power]"
        ),
    ],
    "no_project": [
        '1: there is no [project]; write [project] with name = "owner/repository"',
    ],
    "no_suite": [
        (
            '1: there is no [[suite]]; write [[suite]] with name = "inference" and benchmarks = '
            '"benchmarks/bench_*.py"'
        ),
    ],
    "only_comments": [
        (
            '1: the file is empty; write [project] with name = "owner/repository", and [[suite]] '
            'with name = "inference" and benchmarks = "benchmarks/bench_*.py"'
        ),
    ],
    "syntax": [
        (
            "5: not valid TOML at column 6: Expected '=' after a key in a key/value pair; the "
            'line reads `name "inference"`'
        ),
    ],
    "unclosed": [
        "6: not valid TOML: Unclosed array at the end of the file",
    ],
    "wrong_shapes": [
        '1: expected [gate], found "strict"',
        "2: [[metric]] number 1: expected a table, found 3",
        "4: expected [project], found [[project]]",
        "7: expected [[suite]], found [suite]",
        '12: [prices."hour"]: expected a table, found 2.49',
    ],
    "no_address": [
        (
            '2: `name` in [project]: expected a name such as "owner/repository", found "acme/../vision": '
            "no part . or .., which no address keeps"
        ),
    ],
    "wrong_types": [
        '2: `name` in [project]: expected a name such as "owner/repository", found 7',
        (
            '3: `branch` in [project]: expected the name of a branch such as "main", found "-f": '
            "git allows no such name"
        ),
        (
            '9: `benchmarks[1]` in [[suite]] "inference": expected a glob within the repository '
            'such as "benchmarks/bench_*.py", found 3'
        ),
        (
            '11: `setup` in [[suite]] "inference": expected a list of shell commands such as '
            '["pip install -e ."], found "pip install -e ."'
        ),
        '12: `env.THREADS` in [[suite]] "inference": expected a text such as "1", found 1',
        (
            '13: `devices` in [[suite]] "inference": expected a list of globs such as '
            '["nvidia-*"], found an empty list: at least 1 is needed'
        ),
        '14: `devices_needed` in [[suite]] "inference": expected a whole number from 1 to 64, found 0',
        '15: `on[0]` in [[suite]] "inference": expected a trigger such as "pull_request", found true',
        (
            '16: `paths[0]` in [[suite]] "inference": expected a glob within the repository such '
            'as "src/**", found "/etc/**": relative to the repository\'s root, with forward '
            "slashes and without .."
        ),
        (
            '17: `timeout` in [[suite]] "inference": expected a duration such as "20m" (units s, '
            "m, h), found 20"
        ),
        (
            '18: `gate` in [[suite]] "inference": expected a list of metrics such as '
            '["latency_p99"], found an empty list: at least 1 is needed'
        ),
        (
            '21: `minimum_effect` in [gate]: expected a percentage such as "0.5%" (or 0.005), at '
            'least 0 and below 100%, found "half a percent"'
        ),
        (
            '22: `tolerance` in [gate]: expected a percentage such as "0.5%" (or 0.005), at least '
            '0 and below 100%, found 2: did you mean "2%"?'
        ),
        "23: `device_minutes` in [gate]: expected a number of minutes above 0 and at most 1440, found 0",
        '24: `strict` in [gate]: expected true or false, found "true"',
        (
            '28: `command` in [[suite]] "serving": expected a shell command such as "pip install '
            '-e .", found ""'
        ),
        (
            '29: `output` in [[suite]] "serving": expected a path within the repository such as '
            '"out.jsonl", found "../out.json": relative to the repository\'s root, with forward '
            "slashes and without .."
        ),
        (
            '30: `format` in [[suite]] "serving": expected "json-lines", found "json-line": did '
            'you mean "json-lines"?'
        ),
        (
            '31: `timeout` in [[suite]] "serving": expected a duration such as "20m" (units s, m, '
            'h), found "20 min": hours, minutes and seconds in this order, such as 1h30m'
        ),
    ],
    "wrong_types_elsewhere": [
        (
            '7: `env.1ST` in [[suite]] "inference": expected the name of an environment variable '
            'such as "OMP_NUM_THREADS", found "1ST": letters, digits and underscores, not '
            "beginning with a digit"
        ),
        '11: `unit` in [[metric]] "tokens_per_s": expected a unit such as "tokens/s", found ""',
        (
            '12: `better` in [[metric]] "tokens_per_s": expected "lower" or "higher", found '
            '"bigger": did you mean "higher"?'
        ),
        (
            '13: `tolerance` in [[metric]] "tokens_per_s": expected a percentage such as "0.5%" '
            "(or 0.005), at least 0 and below 100%, found -0.02"
        ),
        (
            '18: `max` in [[budget]] number 1: expected a number with its unit such as "50 ms", '
            'found "50 msec": unknown unit "msec"; did you mean "sec" or "ms"?'
        ),
        '19: `min` in [[budget]] number 1: expected a number with its unit such as "50 ms", found true',
        (
            '23: `cron` in [[schedule]] "hourly": expected five fields of cron such as "0 2 * * '
            '*", found "0 25 * * *": bad hour'
        ),
        (
            '27: `cron` in [[schedule]] "minutely": expected five fields of cron such as "0 2 * * '
            '*", found "* * * *": minute, hour, day of month, month and day of week'
        ),
        '30: `owners."src/**"`: expected a list of people such as ["@alice"], found "@alice"',
        (
            '31: `owners."../**"`: expected a glob within the repository such as "src/**", found '
            '"../**": relative to the repository\'s root, with forward slashes and without ..'
        ),
        '34: `hour` in [prices."nvidia-*"]: expected a number of at least 0 such as 2.49, found nan',
        (
            '35: `currency` in [prices."nvidia-*"]: expected the three letters of a currency such '
            'as "USD", found "dollars"'
        ),
        (
            '36: `date` in [prices."nvidia-*"]: expected a date such as 2026-01-31, found '
            '"2026-01-31": without quotes and without a time of day'
        ),
    ],
}


def refusal(text: str) -> SettingsError:
    with pytest.raises(SettingsError) as error:
        read_settings(text)
    return error.value


@pytest.mark.parametrize("name", REFUSALS)
def test_wrong_file_is_refused_with_everything_that_is_wrong(name):
    error = refusal((BAD / f"{name}.toml").read_text(encoding="utf-8"))
    assert str(error).split("\n") == [f"ratchet.toml:{line}" for line in REFUSALS[name]]


def test_every_wrong_file_has_its_refusal_in_the_table():
    assert {path.stem for path in BAD.glob("*.toml")} == set(REFUSALS)


def test_problem_carries_its_path_code_and_line():
    problems = refusal((BAD / "contradictions.toml").read_text(encoding="utf-8")).problems
    assert [(p.path, p.code, p.line) for p in problems][:6] == [
        ("suite[0].command", "conflict", 7),
        ("suite[1].output", "conflict", 12),
        ("suite[1].on[1]", "bad_value", 13),
        ("suite[1].on[2]", "bad_value", 13),
        ("suite[1].env.timeout", "conflict", 17),
        ("suite[2].name", "duplicate", 20),
    ]


def test_file_with_very_many_problems_is_refused_with_fifty():
    rows = "\n".join(f"key{number} = 1" for number in range(10_000))
    assert len(refusal(f"[project]\n{rows}").problems) == 50


def test_wrong_values_of_any_size_make_short_messages():
    text = f'[project]\nname = "{"x" * 100_000}"\nbranch = 0x{"f" * 100_000}\n{"k" * 100_000} = 1'
    assert len(str(refusal(text))) < 1000


def test_message_shows_nothing_that_a_terminal_acts_on():
    text = '[project]\nname = "a\\u001b[2J\\u202e"\n"\\u001b]0;x\\u0007" = 1\n'
    assert str(refusal(text)).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("section", "count"),
    [("[[suite]]\n", 201), ("[[metric]]\n", 201), ('[prices."{}"]\n', 201)],
)
def test_section_with_too_many_entries_is_refused_once(section, count):
    text = "".join(section.replace("{}", str(number)) for number in range(count))
    about_section = [p for p in refusal(text).problems if p.code == "too_large"]
    assert len(about_section) == 1
    assert "at most 200 entries, found 201" in about_section[0].message


ONE_SUITE = '[project]\nname = "a"\n[[suite]]\nname = "s"\ncommand = "true"\n'


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("timeout = '25h'", "above 0 and at most 24 hours"),
        ("timeout = '0s'", "above 0 and at most 24 hours"),
        ("setup = ['a\\u0000b']".replace("'", '"'), "a NUL character cannot be passed on to a program"),
        ("setup = ['  ']", 'found "  "'),
        ("paths = ['a\\b']", "forward slashes"),
        ("paths = ['../']", 'found "../"'),
        ("output = 'out/'", "a file, not a folder"),
        ("devices = [' cpu']", "no blanks around it"),
        (f"gate = [{'1,' * 201}]", "at most 200 elements, not 201"),
        ("devices_needed = true", "expected a whole number from 1 to 64, found true"),
        ("devices_needed = 65", "expected a whole number from 1 to 64, found 65"),
        ("env = 'A=1'", 'expected a table of texts such as { OMP_NUM_THREADS = "1" }, found "A=1"'),
        ("[gate]\ntolerance = 1", 'found 1: did you mean "1%"?'),
        ("[gate]\ntolerance = '100%'", "below 100%"),
        ("[gate]\ntolerance = inf", "found inf"),
        ("[gate]\ndevice_minutes = 1441", "at most 1440, found 1441"),
        (f"[gate]\ndevice_minutes = 0x1{'0' * 300}", "found a number of too many digits"),
        ("[gate]\nminimum_effect = '2%'", "`tolerance` (2%, the default) must be larger"),
        ("[[schedule]]\nname = 'x'\ncron = '0 0 30 2 *'", "bad day-of-month"),
        (
            "[[schedule]]\nname = 'x'\ncron = '0 0 0 1 1 *'",
            "minute, hour, day of month, month and day of week",
        ),
        ("[[budget]]\nbenchmark='b'\nmetric='m'\nmax='1 s'\nmin='1 B'", "no value is at most 1 s (`max`)"),
        ("[prices.x]\nhour = -1", "found -1"),
        ("[[traffic]]\nbenchmark = 'b'\nper_day = 0\ndate = 2026-01-31", "found 0"),
        ("[[traffic]]\nbenchmark = 'b'\nper_day = '5 s'\ndate = 2026-01-31", "what is counted is tokens"),
        ("[power]\nkwh = 1\ncurrency = 'EUR'\ndate = 2026-01-31\npue = 0.9", "from 1 to 10"),
        (
            "[prices.x]\ndate = 2026-01-31T00:00:00",
            "found 2026-01-31T00:00:00: without quotes and without a time",
        ),
    ],
)
def test_wrong_value_is_refused_with_its_reason(row, message):
    problems = refusal(f"{ONE_SUITE}{row}\n").problems
    assert any(message in problem.message for problem in problems), [p.message for p in problems]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("benchmark = '*.py'", 'unknown key `benchmark` in [[suite]] "s" — did you mean `benchmarks`?'),
        ("device_minutes = 5", 'unknown key `device_minutes` in [[suite]] "s"; it belongs in [gate]'),
        ("Timeout = '5m'", 'unknown key `Timeout` in [[suite]] "s" — did you mean `timeout`?'),
    ],
)
def test_misspelt_key_is_the_only_problem_that_it_makes(row, message):
    assert [problem.message for problem in refusal(f"{ONE_SUITE}{row}\n").problems] == [message]


def test_key_before_all_sections_is_sent_to_its_own():
    assert "unknown key `setup`; it belongs in [[suite]]" in str(refusal(f"setup = ['make']\n{ONE_SUITE}"))


def test_empty_list_of_suites_is_as_good_as_none():
    assert "there is no [[suite]]" in str(refusal('suite = []\n[project]\nname = "a"\n'))


def test_refused_value_is_not_reported_again_by_rules_that_need_it():
    gate = "[gate]\ntolerance = '0.1 percent'\n"
    schedule = "[[schedule]]\nname = 7\ncron = '0 2 * * *'\n"
    error = refusal(f"{ONE_SUITE}on = ['weekly']\n{gate}{schedule}")
    assert [problem.path for problem in error.problems] == ["gate.tolerance", "schedule[0].name"]
