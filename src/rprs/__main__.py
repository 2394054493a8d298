"""`python -m rprs` is the same as `rprs`."""

from rprs.cli import main

main()
