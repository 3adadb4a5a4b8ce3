import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.efficiency.bottleneck import BottleneckKind, Signs, classify

KIND = BottleneckKind


@pytest.mark.parametrize(
    ("signs", "kind"),
    [
        # nothing known, or nothing that reaches its threshold
        (Signs(), KIND.UNCLEAR),
        (Signs(mfu=0.31, bandwidth_util=0.22, util=0.97), KIND.UNCLEAR),
        (Signs(util=1.0, sm_active=0.1), KIND.UNCLEAR),
        # roofs
        (Signs(mfu=0.5), KIND.COMPUTE),
        (Signs(mfu=0.49), KIND.UNCLEAR),
        (Signs(hfu=0.62, mfu=0.45), KIND.COMPUTE),
        (Signs(tensor_active=0.7), KIND.COMPUTE),
        (Signs(bandwidth_util=0.8, mfu=0.02), KIND.MEMORY),
        (Signs(dram_active=0.6), KIND.MEMORY),
        (Signs(mfu=0.55, dram_active=0.85), KIND.MEMORY),
        (Signs(mfu=0.75, dram_active=0.6), KIND.COMPUTE),
        # time lost comes before the roofs, the largest part of it first
        (Signs(input_wait_share=0.2, mfu=0.6), KIND.INPUT),
        (Signs(input_wait_share=0.19, mfu=0.6), KIND.COMPUTE),
        (Signs(comm_share=0.35, input_wait_share=0.25), KIND.COMMUNICATION),
        (Signs(comm_share=0.25, input_wait_share=0.35), KIND.INPUT),
        (Signs(device_s=0.6, host_s=1.0), KIND.LAUNCH),
        (Signs(device_s=0.81, host_s=1.0), KIND.UNCLEAR),
        (Signs(util=0.5), KIND.LAUNCH),
        # the device works nearly all the time, whatever its driver's share says
        (Signs(device_s=0.98, host_s=1.0, util=0.4), KIND.UNCLEAR),
        # an idle device that waits for input does not wait for launches
        (Signs(device_s=0.6, host_s=1.0, input_wait_share=0.35), KIND.INPUT),
        (Signs(device_s=0.4, host_s=1.0, input_wait_share=0.22), KIND.LAUNCH),
        # limits
        (Signs(power_throttle_share=0.9, clock_share=0.8, mfu=0.7), KIND.POWER),
        (Signs(power_throttle_share=0.9, clock_share=0.97, mfu=0.7), KIND.COMPUTE),
        (Signs(power_throttle_share=0.9), KIND.POWER),
        (Signs(power_throttle_share=0.4, clock_share=0.8), KIND.UNCLEAR),
        (Signs(thermal_throttle_share=0.6, clock_share=0.7), KIND.POWER),
        (Signs(power_throttle_share=0.9, clock_share=0.8, comm_share=0.3), KIND.COMMUNICATION),
    ],
)
def test_class_is_the_first_rule_that_holds(signs, kind):
    assert classify(signs).kind is kind


def test_evidence_of_the_class_comes_first_with_its_number():
    result = classify(Signs(mfu=0.12, dram_active=0.83, input_wait_share=0.05, device_s=0.95, host_s=1.0))
    first = result.findings[0]
    assert (first.name, first.value, first.kind, first.is_decisive) == (
        "dram_active",
        0.83,
        KIND.MEMORY,
        True,
    )
    assert first.text == "the memory moves data in 83 % of the cycles"
    assert {finding.name for finding in result.findings} == {
        "dram_active",
        "mfu",
        "input_wait_share",
        "idle_share",
    }
    assert [finding.name for finding in result.findings if finding.is_decisive] == ["dram_active"]


def test_further_classes_are_listed_the_gravest_first():
    result = classify(
        Signs(power_throttle_share=0.8, clock_share=0.8, mfu=0.7, comm_share=0.3, input_wait_share=0.25)
    )
    assert result.kind is KIND.COMMUNICATION
    assert result.also == (KIND.INPUT, KIND.POWER, KIND.COMPUTE)


def test_what_is_not_known_is_named():
    names = [note.code for note in classify(Signs(util=0.99, tensor_active=0.3)).missing]
    assert names == ["input_wait_share", "comm_share", "power_throttle_share", "bandwidth_util"]
    everything = Signs(
        util=0.9, input_wait_share=0, comm_share=0, power_throttle_share=0, mfu=0.1, dram_active=0.1
    )
    assert classify(everything).missing == ()


def test_share_that_cannot_be_right_is_no_evidence():
    result = classify(Signs(mfu=1.4, bandwidth_util=0.6))
    assert result.kind is KIND.MEMORY
    assert result.missing[0].code == "mfu"
    assert "1.4 cannot be right" in result.missing[0].text
    assert "mfu" not in {finding.name for finding in result.findings}


@pytest.mark.parametrize(
    "signs",
    [
        Signs(util=-0.5),
        Signs(util=float("nan")),
        Signs(device_s=2.0, host_s=1.0),
        Signs(device_s=0.0, host_s=1.0),
        Signs(input_wait_share=3.0),
        Signs(dram_active=float("inf")),
    ],
)
def test_signs_that_cannot_be_right_lead_to_no_class(signs):
    result = classify(signs)
    assert (result.kind, result.findings) == (KIND.UNCLEAR, ())
    assert "cannot be right" in result.missing[0].text


def test_device_time_a_little_over_the_steps_is_a_busy_device():
    result = classify(Signs(device_s=1.01, host_s=1.0))
    assert (result.findings[0].name, result.findings[0].value) == ("idle_share", 0.0)


def test_intensity_is_shown_beside_the_roofs_and_decides_nothing():
    result = classify(Signs(intensity=20.0, ridge=295.0, sm_active=0.4))
    assert result.kind is KIND.UNCLEAR
    texts = {finding.name: finding.text for finding in result.findings}
    assert (
        texts["intensity"] == "20 FLOP for each byte lies left of the ridge, under the memory's roof at 295"
    )
    assert texts["sm_active"] == "40 % of the multiprocessors have work, over time"


shares = st.none() | st.floats(min_value=0, max_value=1)


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        dict.fromkeys(["mfu", "dram_active", "util", "input_wait_share", "comm_share"], shares)
    )
)
def test_class_always_rests_on_a_finding_that_reaches_its_threshold(known):
    result = classify(Signs(**known))
    decisive = {finding.kind for finding in result.findings if finding.is_decisive}
    assert decisive == ({result.kind, *result.also} if decisive else set())
    assert (result.kind is KIND.UNCLEAR) == (not decisive)
