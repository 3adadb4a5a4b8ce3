"""What a GPU did while a run was measured, as DCGM told Prometheus; asked by the service, agents need no access.

`fields` says which numbers there are, `server` asks Prometheus within bounds, `series` finds the device among what it
answers, `windows` takes means over a run's windows, `result` is what comes back, and `activity` puts it together.
`steps` asks what many GPUs did over days, for the weekly report.
docs/dcgm.md is for people.
"""

from app.integrations.dcgm.activity import device_activity
from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.fields import FIELDS, Field
from app.integrations.dcgm.result import Activity, Reading
from app.integrations.dcgm.server import Prometheus
from app.integrations.dcgm.steps import seen_in_steps

__all__ = ["FIELDS", "Activity", "Field", "Gpu", "Prometheus", "Reading", "device_activity", "seen_in_steps"]
