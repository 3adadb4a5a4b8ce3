"""Domain values into view models into HTML; no queries."""
