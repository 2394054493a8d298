"""`python -m rprs` is `rprs`."""

from rprs.cli import main

main()
