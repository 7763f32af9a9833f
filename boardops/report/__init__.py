"""A judged run into HTML, Markdown, text and JSON."""
