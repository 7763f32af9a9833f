"""`python -m boardops`."""

from boardops.entry import main

main()
