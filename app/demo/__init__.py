"""The demonstration: a small repository with three pull requests whose speed is known."""
