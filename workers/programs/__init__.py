"""Other people's programs: run under a keeper, within the lease, and gone at its end."""
