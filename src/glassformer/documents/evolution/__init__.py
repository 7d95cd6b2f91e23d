"""S3, the bottom-up evolution of representations: its claims and experiment."""
