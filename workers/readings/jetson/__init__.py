"""What a Jetson's tools print: tegrastats and nvpmodel."""
