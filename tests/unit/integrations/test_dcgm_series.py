import math

import pytest

from app.domain.errors import UnavailableError
from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.series import instances, selectors, sources

POWER = "DCGM_FI_DEV_POWER_USAGE"


def row(*samples, field=POWER, **labels):
    named = {"__name__": field, "UUID": "GPU-1", "job": "dcgm", "instance": "a:9400", **labels}
    return {"metric": named, "values": [[moment, str(value)] for moment, value in samples]}


def test_series_of_one_exporter_under_changing_pods_are_one_source():
    told = sources([row((1, 10), (2, 20)), row((3, 30), (4, 40), pod="bench", team="vision")])["power_w"]
    assert [source.samples for source in told] == [[(1, 10), (2, 20), (3, 30), (4, 40)]]


def test_a_number_that_is_repeated_for_each_pod_counts_once():
    told = sources([row((1, 10), (2, 20), pod="a", vgpu="0"), row((1, 10), (2, 20), pod="b", vgpu="1")])[
        "power_w"
    ]
    assert told[0].samples == [(1, 10), (2, 20)]
    assert told[0].contradictions == []


def test_moments_with_two_numbers_of_one_exporter_are_left_out_and_counted():
    told = sources([row((1, 10), (2, 20)), row((2, 21), (3, 30), pod="b")])["power_w"]
    assert told[0].samples == [(1, 10), (3, 30)]
    assert told[0].contradictions == [2]


def test_a_series_in_several_answers_is_put_together():
    told = sources([row((1, 10), (2, 20)), row((2, 20), (3, 30))])["power_w"]
    assert told[0].samples == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.parametrize(
    "other",
    [
        {"instance": "b:9400"},
        {"job": "spare"},
        {"Hostname": "other"},
        {"prometheus_replica": "b"},
        {"cluster": "west"},
    ],
)
def test_two_who_tell_the_same_are_two_sources(other):
    assert len(sources([row((1, 10)), row((1, 10), **other)])["power_w"]) == 2


def test_the_old_and_the_new_name_of_a_field_are_one_metric():
    told = sources(
        [row((1, 0.5), field="DCGM_FI_PROF_SM_ACTIVE"), row((1, 0.4), field="DCGM_FI_PROF_SM_UTIL_RATIO")]
    )
    assert [source.field for source in told["sm_active"]] == [
        "DCGM_FI_PROF_SM_ACTIVE",
        "DCGM_FI_PROF_SM_UTIL_RATIO",
    ]


def test_numbers_of_single_links_and_of_other_fields_are_not_the_gpus():
    assert sources([row((1, 5), nvlink="3"), row((1, 5), field="DCGM_FI_DEV_GPU_TEMP")]) == {}


def test_what_is_no_number_is_no_sample():
    assert sources([row((1, math.nan), (2, math.inf), (3, "-Inf"), (4, 7))])["power_w"][0].samples == [(4, 7)]
    assert sources([row((1, math.nan))]) == {}


def test_labels_that_tell_where_a_number_came_from_are_kept_and_others_not():
    told = sources([row((1, 7), Hostname="n1", modelName="H", pod="secret", GPU_I_ID="")])["power_w"][0]
    assert told.labels == {"job": "dcgm", "instance": "a:9400", "Hostname": "n1", "modelName": "H"}
    assert str(told) == "job dcgm, instance a:9400, Hostname n1"


@pytest.mark.parametrize(
    "rows",
    [
        ["x"],
        [{}],
        [{"metric": None, "values": []}],
        [{"metric": {"__name__": POWER}}],
        [{"metric": {"__name__": POWER}, "values": [[1]]}],
        [{"metric": {"__name__": POWER}, "values": [["x", "y"]]}],
        [{"metric": {"job": "without a name"}, "values": []}],
    ],
)
def test_rows_of_another_form_are_refused_in_words(rows):
    with pytest.raises(UnavailableError, match="in a form that is not its own"):
        sources(rows)


def test_a_gpu_is_asked_for_without_its_instances_and_under_every_label():
    first, *others = selectors(Gpu.named("GPU-1"))
    assert first.endswith(',UUID="GPU-1",GPU_I_ID=""}')
    assert [other.rpartition(",")[0].rpartition(",")[2] for other in others] == [
        'uuid="GPU-1"',
        'gpu_uuid="GPU-1"',
    ]
    assert "DCGM_FI_PROF_SM_ACTIVE|" in first


def test_an_instance_is_asked_for_by_its_gpu_and_number_and_for_what_is_its_own():
    first = selectors(Gpu.named("MIG-5b4e", parent="GPU-1", instance=7))[0]
    assert first.endswith(',UUID="GPU-1",GPU_I_ID="7"}')
    assert "DCGM_FI_PROF_SM_ACTIVE" in first
    assert "POWER" not in first
    assert "PCIE" not in first


def test_the_old_name_of_an_instance_tells_its_gpu_and_number():
    gpu = Gpu.named("MIG-GPU-1a-2b/9/1")
    assert (gpu.gpu_uuid, gpu.instance, gpu.compute_instance) == ("GPU-1a-2b", 9, 1)
    assert gpu.is_located


def test_instance_number_zero_is_an_instance():
    gpu = Gpu.named("MIG-5b4e", parent="GPU-1", instance=0)
    assert gpu.is_located
    assert selectors(gpu)[0].endswith('GPU_I_ID="0"}')


def test_an_instance_of_which_only_the_name_is_known_is_asked_for_by_it():
    asked = selectors(Gpu.named("MIG-5b4e"))
    assert [one.rpartition(",")[2] for one in asked] == [
        'dra_mig_device_uuid="MIG-5b4e"}',
        'UUID="MIG-5b4e"}',
        'uuid="MIG-5b4e"}',
    ]


@pytest.mark.parametrize("uuid", ['GPU-1"} or up{x="', "", "GPU 1", "GPU-1\n", "x" * 200, 'a\\"'])
def test_a_name_that_would_change_the_question_is_not_well_formed(uuid):
    assert not Gpu.named(uuid).is_well_named
    assert not Gpu.named("MIG-1", parent=uuid or "{", instance=1).is_well_named


def test_instances_of_the_gpu_that_are_told():
    rows = [
        {"metric": {"UUID": "GPU-1", "GPU_I_ID": "7"}},
        {"metric": {"uuid": "GPU-1"}},
        {"metric": {"UUID": "GPU-2", "GPU_I_ID": "8"}},
    ]
    assert instances(Gpu.named("GPU-1"), rows) == {"7", ""}
    with pytest.raises(UnavailableError):
        instances(Gpu.named("GPU-1"), ["x"])
