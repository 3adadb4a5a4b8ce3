"""Base against head of many benchmarks from their values, with multiplicity controlled over all of them."""
