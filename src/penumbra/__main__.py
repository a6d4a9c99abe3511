"""`python -m penumbra`: the command line."""

from penumbra.commands.main import main

main()
