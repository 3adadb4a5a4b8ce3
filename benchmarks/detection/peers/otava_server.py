"""Runs in Otava's own environment and imports nothing of ours.

A line of values (JSON) in; a line of change points, and the processor's seconds used so far, out.
"""

import json
import sys
import time

from otava.analysis import compute_change_points
from otava.series import AnalysisOptions

options = AnalysisOptions()
for line in sys.stdin:
    points, _ = compute_change_points(
        json.loads(line),
        window_len=options.window_len,
        max_pvalue=options.max_pvalue,
        min_magnitude=options.min_magnitude,
    )
    print(json.dumps([[int(point.index) for point in points], time.process_time()]), flush=True)
