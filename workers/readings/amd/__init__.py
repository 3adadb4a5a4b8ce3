"""What AMD's tools print: amd-smi, rocm-smi, rocminfo."""
