"""The sections of the weekly report as people read them: numbers, links, empty weeks, and names that mean harm."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from app.domain.device_use import Drawn
from app.domain.hardware import HardwareSide
from app.domain.weekly import Money
from app.domain.weekly_alerts import AlertsWeek, Rate
from app.domain.weekly_fleet import Energy, FleetWeek, Watched
from app.reports.html import report_environment
from app.reports.weekly.alerts import alerts_view
from app.reports.weekly.bottlenecks import bottlenecks_view
from app.reports.weekly.fleet import PURPOSES, Cell, fleet_view
from app.reports.weekly.hardware import hardware_view
from app.reports.weekly.parts import address, hours, kwh, moneys, share_bar, stacked_bar
from app.reports.weekly.scaling import scaling_view
from app.services.device_purpose import Purpose
from tests.factories import weekly_values as values
from tests.factories.browser import Page
from tests.factories.weekly_values import BASE, HOSTILE, HOUR, NOW

SECTIONS = ("fleet", "bottlenecks", "hardware", "scaling", "alerts")
NO_RATE = Rate(0, 0, None, None, None)
NOTHING: dict[str, Any] = {
    "fleet": fleet_view(FleetWeek(True, (), (), (), (), 0.0, {}, (), None, None), BASE),
    "bottlenecks": bottlenecks_view((), BASE),
    "hardware": hardware_view((), BASE),
    "scaling": scaling_view((), BASE),
    "alerts": alerts_view(AlertsWeek({}, 0, (), 0, 0, {}, NO_RATE, NO_RATE, NOW), BASE),
}


def rendered(section: str, view: Any) -> Page:
    """Return a section's part of the page."""
    template = report_environment().get_template(f"weekly/_{section}.html")
    return Page(template.render(view=SimpleNamespace(**{section: view})))


@pytest.fixture(scope="module")
def full() -> dict[str, Page]:
    return {
        "fleet": rendered("fleet", fleet_view(values.fleet(), BASE)),
        "bottlenecks": rendered("bottlenecks", bottlenecks_view(values.cases(), BASE)),
        "hardware": rendered("hardware", hardware_view(values.hardware(), BASE)),
        "scaling": rendered("scaling", scaling_view(values.scaling(), BASE)),
        "alerts": rendered("alerts", alerts_view(values.alerts(), BASE)),
    }


@pytest.mark.parametrize("section", SECTIONS)
def test_an_empty_section_says_in_one_line_what_would_make_it_appear(section: str) -> None:
    page = rendered(section, NOTHING[section])
    assert "appear" in page.text or "is opened for" in page.text
    assert page.html.count("<p") == 1
    assert "<table" not in page.html


@pytest.mark.parametrize("section", SECTIONS)
def test_every_link_is_a_whole_address_of_the_service_and_nothing_is_loaded(
    section: str, full: dict[str, Page]
) -> None:
    page = full[section]
    assert page.links
    assert all(link.startswith(f"{BASE}/") for link in page.links)
    assert page.addresses() == []
    assert "<script" not in page.html


def hostile_pages() -> dict[str, Page]:
    """Every section with names that mean harm wherever somebody else chose them."""
    fleet = values.fleet(HOSTILE)
    device = replace(
        fleet.devices[0],
        hardware_id=HOSTILE,
        worker=HOSTILE,
        device_class=HOSTILE,
        why=HOSTILE,
        quarantined_at=NOW,
    )
    hostile_fleet = replace(
        fleet,
        devices=(device,),
        classes=(replace(fleet.classes[0], device_class=HOSTILE),),
        suites=(replace(fleet.suites[0], what=HOSTILE),),
        purposes=(replace(fleet.purposes[0], what=HOSTILE),),
        outcomes={HOSTILE: 3},
        reasons=((HOSTILE, 3),),
    )
    (week,) = values.hardware(HOSTILE, HOSTILE)
    base = HardwareSide(HOSTILE, week.compared[0].base.price)
    week = replace(week, reference=HOSTILE, compared=(replace(week.compared[0], base=base),))
    cases = [replace(its, device_class=HOSTILE, dtype=HOSTILE) for its in values.cases(HOSTILE, HOSTILE)]
    return {
        "fleet": rendered("fleet", fleet_view(hostile_fleet, BASE)),
        "bottlenecks": rendered("bottlenecks", bottlenecks_view([*cases, values.case(0, mfu=0.1)], BASE)),
        "hardware": rendered("hardware", hardware_view((week,), BASE)),
        "scaling": rendered(
            "scaling",
            scaling_view([replace(its, device_class=HOSTILE) for its in values.scaling(HOSTILE)], BASE),
        ),
        "alerts": rendered("alerts", alerts_view(values.alerts(HOSTILE, HOSTILE), BASE)),
    }


@pytest.mark.parametrize("section", SECTIONS)
def test_names_that_mean_harm_are_shown_and_do_none(section: str) -> None:
    page = hostile_pages()[section]
    assert "alert(1)" in page.html
    assert "<script" not in page.html
    assert all(char not in page.html for char in "\u202e\x1b")
    assert "49" not in re.findall(r"\}\}|49\b", page.text)
    assert all(link.startswith(f"{BASE}/") and '"' not in link for link in page.links)
    assert len(page.html) < 30_000, "long names are shortened"


def test_by_leases_alone_idle_is_what_nobody_held_and_the_section_says_why_where_it_was_asked() -> None:
    sentence = (
        "700 h of 2 856 h of device time were held (24.5 %). Idle time costs 7 952 EUR at the stated prices."
    )
    without = rendered("fleet", fleet_view(values.by_leases(), BASE))
    assert sentence in plain(without)
    assert "DCGM says" not in without.text
    assert "leases" not in without.text
    failed = rendered("fleet", fleet_view(values.by_leases("http://p:9090 does not answer within 5 s"), BASE))
    assert (
        f"{sentence} By leases alone, what others used counts as idle: http://p:9090 does not answer within 5 s."
    ) in plain(failed)
    assert failed.html.count("<table") == without.html.count("<table")


def test_where_dcgm_told_what_nobody_held_is_split_with_what_each_part_costs(full: dict[str, Page]) -> None:
    text = plain(full["fleet"])
    assert (
        "700 h of 2 856 h of device time were held (24.5 %). Of the rest others used 900 h, 1 156 h were idle, and of"
        " 100 h nothing is known: DCGM tells of 15 of 16 GPUs; of other devices leases alone tell, and what nobody held"
        " counts as idle. Idle time costs 3 952 EUR at the stated prices."
    ) in text
    (row,) = fleet_view(values.fleet(), BASE).unheld
    assert row.parts == (
        ("Used by others", Cell("900 h", "3\u202f600\u00a0EUR", "busy 61.0 %")),
        ("Idle", Cell("988 h", "3\u202f952\u00a0EUR")),
        ("Not known", Cell("100 h", "400\u00a0EUR")),
    )
    assert row.drawn == Cell("69.1 kWh", "20.73\u00a0EUR")
    assert "A GPU is idle in five minutes in which something ran on it for less than 5 % of the time." in text
    assert (
        "69.1 kWh, measured by their energy counters, over 987 h of 988 h of idle time; the rest is not known"
        in text
    )
    first, second = (dict(its.idle) for its in fleet_view(values.fleet(), BASE).devices[:2])
    assert (first["Idle"], first["Not known"]) == (Cell("168 h"), Cell("–")), (
        "of a processor leases alone tell"
    )
    assert (second["Idle"].amount, second["Used by others"]) == (
        "74 h",
        Cell("59.2 h", "237\u00a0EUR", "busy 61.0 %"),
    )


def test_energy_by_samples_of_the_power_says_so_and_what_was_told_in_part_why() -> None:
    week = values.fleet()
    by_power = replace(
        values.unheld(900.0, 988.0, 100.0), drawn_idle=Drawn(3.6e6, 3e6, 4e6, HOUR, is_counted=False)
    )
    week = replace(
        week,
        classes=(replace(week.classes[0], unheld=by_power), week.classes[1]),
        watched=Watched(12, 16, "http://p:9090 takes longer than 5 s"),
    )
    text = plain(rendered("fleet", fleet_view(week, BASE)))
    assert (
        "1.000 kWh (0.833 kWh … 1.11 kWh), an estimate by energy counters or samples of the power, between its"
        " lowest and highest, over 1 h of 988 h of idle time"
    ) in text
    assert "Not all was told: http://p:9090 takes longer than 5 s." in text


def plain(page: Page) -> str:
    return page.text.replace("\u00a0", " ")


def test_the_fleet_tells_how_it_went_and_what_energy_is_an_estimate(full: dict[str, Page]) -> None:
    text = plain(full["fleet"])
    assert "444 kWh (417 kWh … 472 kWh), an estimate by the devices' counters of 290 of 432 runs" in text
    assert (
        "over 410 h of 690 h of device time; the rest is not known; 133 EUR, 1.2 times that drawn by the building"
        in text
    )
    assert "half within 1 min 4 s, 95 % within 31 min 40 s" in text
    assert "4 jobs now, the oldest since 2026-11-23 04:00 UTC" in text
    assert "310 of 18400 (1.7 %), in 290 of 432 runs, evenly chosen" in text
    assert "since 2026-11-20 06:00 UTC: gemm of its control took 12.4 ms, 10.1 ms is usual (+23 %)" in text
    assert "SM 62.0 % · tensor 21.0 %, by DCGM" in text
    assert "120 EUR, 2 h without a price" in text
    assert "9 of 432 attempts (2.1 %)" in text
    assert "4 more suites" in text


def test_measured_energy_says_so_and_a_project_has_no_idle_time() -> None:
    measured = Energy(3.6e6, None, None, HOUR, 2 * HOUR, 3, 3, is_counted=True)
    week = replace(values.by_leases(), is_whole=False, devices=(), energy=measured, energy_cost=None)
    page = rendered("fleet", fleet_view(week, BASE))
    text = page.text.replace("\u00a0", " ")
    assert (
        "1.000 kWh, measured by the devices' counters, over 1 h of 2 h of device time; the rest is not known"
        in text
    )
    assert "Idle" not in page.text
    assert "700 h of device time on 17 devices, which costs 2 800 EUR at the stated prices." in text


def test_every_purpose_of_a_job_has_a_name_of_its_own() -> None:
    assert {str(purpose) for purpose in Purpose} <= PURPOSES.keys()
    assert len(set(PURPOSES.values())) == len(PURPOSES)


def test_lost_time_comes_first_then_what_is_furthest_below_its_roof(full: dict[str, Page]) -> None:
    view = bottlenecks_view(values.cases(), BASE)
    kinds = [row.kind for row in view.rows]
    assert kinds[:4] == ["launch", "input", "communication", "power"]
    assert set(kinds[4:]) == {"unclear"}
    assert [row.roof for row in view.rows[4:7]] == ["10.0 %", "11.0 %", "12.0 %"]
    assert dict((kind, n) for kind, n, _ in view.counts)["unclear"] == 10
    assert (view.n, len(view.rows)) == (16, 12)
    assert view.rest is not None
    assert view.rest.words == "4 more cases"
    assert view.rows[1].case.address == f"{BASE}/series/30"
    assert view.rows[1].run == f"{BASE}/runs/700"


def test_advice_is_told_with_its_number_and_its_condition_and_the_second_time_in_short() -> None:
    view = bottlenecks_view([values.case(n, tensor_active=0.04, mfu=0.06 + n / 100) for n in range(2)], BASE)
    first, second = view.rows
    assert first.advice[0].evidence.startswith("the matrix units work in 4 % of the cycles")
    assert first.advice[0].holds_if == "most of the work is products of matrices or convolutions"
    assert second.advice[0].text == "Have products of matrices reach the matrix units"
    assert second.advice[0].holds_if == ""
    assert "As above." in rendered("bottlenecks", view).text


def test_a_class_is_better_or_worse_only_where_its_whole_range_is() -> None:
    (project,) = hardware_view(values.hardware(), BASE).projects
    newer, smaller = project.rows
    assert [(cell.text, cell.word) for cell in newer.cells] == [
        ("×1.62", "better"),
        ("×0.743", "better"),
        ("×1.35", "better"),
        ("×0.617", "better"),
    ]
    assert [cell.word for cell in smaller.cells] == ["worse", "open", "open", "worse"]
    assert newer.device_class.address == (
        f"{BASE}/compare?project=acme%2Fvision&base=nvidia-h100-80gb-hbm3&head=nvidia-h200-141gb-hbm3e"
    )
    assert project.price == "4 EUR an hour as of 2026-10-01"
    assert project.rest is not None


def test_scaling_tells_the_change_since_last_week() -> None:
    first, second, third = scaling_view(values.scaling(), BASE).rows
    assert (first.now, first.last, first.change, first.devices) == ("61.0 %", "83.0 %", "−26.5 %", "64")
    assert (second.change, third.last, third.change, third.devices) == ("0 %", "–", "–", "–")


def test_alerts_tell_what_happened_and_who_has_the_oldest() -> None:
    view = alerts_view(values.alerts(), BASE)
    assert view.headline == (
        "6 alerts opened in the week, 1 opened again, 4 closed: 3 as fixed and 1 as noise."
        " 9 open now, 6 of them nobody's."
    )
    assert [row.title.name.shown for row in view.oldest] == [
        "resize[batch=8] latency_p50 +36.0 % and 3 more",
        "Crop +8 %",
        "Taken back: nothing of it holds",
    ]
    assert [(row.owner.shown, row.age) for row in view.oldest] == [
        ("ann", "120 days"),
        ("nobody", "40 days"),
        ("nobody", "today"),
    ]
    assert view.rates[0].text == "90.0 % (18 of 20, 95 % interval 69.9 … 97.2 %)"
    assert view.rest is not None
    assert view.rest.words == "6 more open alerts"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0.0, "0 h"),
        (10.0, "<0.01 h"),
        (180.0, "0.05 h"),
        (3600.0, "1 h"),
        (12_600.0, "3.5 h"),
        (4e6, "1\u202f111 h"),
    ],
)
def test_device_time_is_told_in_hours(seconds: float | None, words: str) -> None:
    assert hours(seconds) == words


def test_money_of_several_currencies_is_not_added_up() -> None:
    assert moneys([Money(36.0, "EUR"), Money(2.0, "USD")]) == "36.00\u00a0EUR + 2.00\u00a0USD"
    assert moneys([]) == "–"
    assert kwh(3.6e6 * 12_345) == "12345 kWh"


def test_pictures_stay_within_their_room_whatever_the_numbers_are() -> None:
    assert 'width="120" height="8" rx="2"/></svg>' in share_bar(1.7, label="beyond")
    assert 'width="0"' in share_bar(-0.1, label="below")
    assert share_bar(None, label="") == ""
    assert stacked_bar([("a", 0)], label="") == ""
    widths = [
        float(width)
        for width in re.findall(r'width="([\d.]+)"', stacked_bar([("a", 1), ("b", 3)], label="x"))
    ]
    assert widths == [59.0, 179.0]


def test_addresses_keep_what_is_chosen_and_no_double_slash() -> None:
    assert (
        address("https://x/", "/series", project="a b", metric="", q=None) == "https://x/series?project=a+b"
    )
