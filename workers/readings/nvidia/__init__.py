"""What NVIDIA's tools print: nvidia-smi in all its forms, dcgm-exporter, and SuperBench's monitor."""
