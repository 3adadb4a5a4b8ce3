"""What numbers mean: comparison, detection, noise. Pure: arrays in, values out."""
