"""One program per live source. They are started as programs and never imported by the package."""
