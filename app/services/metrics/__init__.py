"""The service's own numbers for Prometheus: which there are, what is counted, and what a scrape is answered."""
