"""AWS Inferentia and Trainium."""
