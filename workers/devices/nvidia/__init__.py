"""NVIDIA GPUs and their MIG instances, by NVML."""
