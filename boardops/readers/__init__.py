"""One pure reader per format: text in, facts out."""
