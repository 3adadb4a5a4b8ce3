"""How much of a device a program uses, what its work costs, and what holds it back.

One formula a function, from plain values with their origin to a value with its inputs and its doubts
(`app.domain.derived`); the formulas, their constants and their limits are stated in docs/efficiency.md. Which device
has which peak is `app.accelerators`' and comes in as a value.
"""
