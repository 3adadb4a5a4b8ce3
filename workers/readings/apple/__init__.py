"""What powermetrics prints."""
