"""Entry point of `python -m bloomify`."""

from bloomify.main import main

main()
