"""What tpu-info prints."""
