"""Change-point detection and two-sample checks, side by side with peers on generated data with known truth."""
