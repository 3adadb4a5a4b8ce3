"""What the tools of AWS Neuron print: neuron-ls and neuron-monitor."""
