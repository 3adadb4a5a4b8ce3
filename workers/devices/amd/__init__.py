"""AMD GPUs, by the amdgpu driver's files, with AMD's tools for the rest."""
