"""Taking the measurements of a run: order, fresh processes, and what they report."""
