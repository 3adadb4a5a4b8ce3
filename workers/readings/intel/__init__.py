"""What Intel's tools print: xpu-smi and intel_gpu_top."""
