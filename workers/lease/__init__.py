"""Holding a lease: what the agent says to the service, and keeps until it is said."""
