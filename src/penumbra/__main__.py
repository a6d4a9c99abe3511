"""`python -m penumbra`: the command line."""

from penumbra.cli import main

main()
