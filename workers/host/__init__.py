"""The machine below: its time, what it is, and locks between its agents."""
