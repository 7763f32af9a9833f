"""boardops decides whether accelerator boards are fit for work."""

__version__ = "0.1.0"
