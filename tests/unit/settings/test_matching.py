import pytest

from app.settings import matching_classes

CLASSES = ["nvidia-h100-sxm5-80gb", "nvidia-a10", "cpu-epyc-9354-64t", "simulated"]


@pytest.mark.parametrize(
    ("globs", "wanted"),
    [
        (["*"], CLASSES),
        (["nvidia-*"], CLASSES[:2]),
        (["cpu-*", "nvidia-h*"], [CLASSES[0], CLASSES[2]]),
        (["nvidia-a10"], CLASSES[1:2]),
        (["nvidia"], []),
        (["NVIDIA-*"], []),
        (["nvidia-[ah]1*"], CLASSES[:2]),
        ([], []),
    ],
)
def test_globs_choose_classes_in_the_order_of_the_classes(globs, wanted):
    assert matching_classes(globs, CLASSES) == tuple(wanted)


def test_class_named_twice_is_chosen_once():
    assert matching_classes(iter(["nvidia-*", "*"]), ["nvidia-a10", "nvidia-a10"]) == ("nvidia-a10",)
