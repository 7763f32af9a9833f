"""Measures what a verdict costs, against references of the same run: `python -m benchmarks`. Nothing here is a test."""
