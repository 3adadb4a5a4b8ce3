"""Where a computed number comes from, as people read it."""

from __future__ import annotations

from app.analysis.efficiency.cost import cost_per_million_tokens, no_price, price_of
from app.analysis.efficiency.energy import energy_net_per_iter, energy_per_iter
from app.analysis.efficiency.utilisation import mfu
from app.domain.derived import Derived, Given
from app.reports.provenance import provenance_view

ONE = Given(1, "1", "devices of the lease")
PEAK = Given(312e12, "FLOP/s", "A100 (1 GPU), https://maker.example; not verified; dense", is_verified=False)


def share(seconds: float, flop: float = 1e12, peak: Given = PEAK) -> Derived:
    return mfu(Given(flop, "FLOP", "declared"), Given(seconds, "s", "mean time of a call"), ONE, peak)


def view_of(**arms: Derived):
    view = provenance_view({arm: derived.document() for arm, derived in arms.items()})
    assert view is not None
    return view


def test_nothing_kept_is_no_view():
    assert provenance_view(None) is None
    assert provenance_view({}) is None


def test_formula_is_told_with_the_numbers_of_each_arm():
    view = view_of(base=share(0.01), head=share(0.0125))
    assert view.formula == "model FLOP / (time · devices · peak)"
    assert view.steps == (
        ("base", "1 TFLOP / (10 ms · 1 · 312 TFLOP/s) = 32.1 %"),
        ("head", "1 TFLOP / (12.5 ms · 1 · 312 TFLOP/s) = 25.6 %"),
    )


def test_input_that_both_arms_share_is_told_once_and_others_by_arm():
    view = view_of(base=share(0.01), head=share(0.0125))
    assert [(one.name, one.value, one.origin) for one in view.inputs] == [
        ("model FLOP", "1 TFLOP", "declared"),
        ("time", "10.00 → 12.50 ms", "mean time of a call"),
        ("devices", "1", "devices of the lease"),
        ("peak", "312 TFLOP/s", "A100 (1 GPU), https://maker.example; dense"),
    ]


def test_counts_that_differ_keep_all_their_digits():
    def energy(calls: float) -> Derived:
        return energy_per_iter(
            Given(3800, "J", "counter"), Given(calls, "1", "calls"), Given(5.5, "s", "window")
        )

    view = view_of(base=energy(21768), head=energy(18404))
    assert [(one.name, one.value) for one in view.inputs][1] == ("iterations", "21768 → 18404")


def test_peak_that_nobody_compared_is_a_mark_at_its_input_and_no_sentence():
    view = view_of(head=share(0.01))
    assert [one.is_verified for one in view.inputs] == [True, True, True, False]
    assert view.notes == ()


def test_other_notes_are_sentences_with_their_arm_where_it_is_one():
    beyond = view_of(base=share(0.01), head=share(0.002))
    assert beyond.notes == ("head: more than the device can do: the model FLOP or the peak cannot be right",)
    short = energy_per_iter(Given(900, "J", "counter"), Given(30, "1", "calls"), Given(2, "s", "window"))
    assert view_of(base=short, head=short).notes == ("energy over 2 s says nothing; it takes 5 s",)


def test_value_that_cannot_be_had_says_what_is_missing():
    view = view_of(
        head=cost_per_million_tokens(no_price("nvidia-x"), ONE, Given(48_200, "tokens/s", "measured"))
    )
    assert view.steps == (("head", "1e6 · – · 1 / 48.2 k tokens/s = not known"),)
    assert view.notes == ("price is not known: no [prices] entry fits nvidia-x",)


def test_names_of_several_words_and_names_within_words_are_filled_in_once():
    made = energy_net_per_iter(
        Given(4000, "J", "counter"), Given(100, "1", "calls"), Given(8, "s", "window"), Given(90, "W", "idle")
    )
    assert view_of(base=made).steps == (("base", "(4 kJ − 90 W · 8 s) / 100 = 32.8 J"),)


def test_price_has_its_day_and_its_section():
    price = price_of(2.49, "EUR", "2026-11-01", "nvidia-h100-*")
    view = view_of(head=cost_per_million_tokens(price, ONE, Given(48_200, "tokens/s", "measured")))
    assert view.inputs[0].value == "2.49 EUR/h"
    assert view.inputs[0].origin == '[prices."nvidia-h100-*"], EUR of 2026-11-01'


def test_control_characters_of_an_origin_are_gone():
    odd = Given(1e12, "FLOP", "de\x1b[31mclared\n\u202e")
    made = mfu(odd, Given(0.01, "s", "time"), ONE, PEAK)
    assert view_of(head=made).inputs[0].origin == "declared �"
