"""Google TPUs."""
