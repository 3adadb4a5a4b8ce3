"""The frozen reference workload: it moves only when the machine does."""
