"""Making both arms ready: work trees, environments, the same benchmark files, the list of cases."""
