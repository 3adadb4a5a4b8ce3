import numpy as np
import pytest

from app.analysis.arrays import median


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([3.0], 3.0),
        ([5.0, 1.0, 2.0], 2.0),
        ([4.0, 1.0, 2.0, 9.0], 3.0),
        ([-2.0, 4.0], 1.0),
        ([1.7e308, 1.7e308], 1.7e308),
        ([-1.7e308, -1.5e308], -1.6e308),
        ([-1.7e308, 1.7e308], 0.0),
        ([5e-324, 5e-324], 5e-324),
    ],
)
def test_median_is_the_middle_however_large_the_values_are(values, wanted):
    assert median(np.array(values)) == wanted
