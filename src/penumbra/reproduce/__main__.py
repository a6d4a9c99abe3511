"""`python -m penumbra.reproduce NAME --scale smoke`."""

import sys

from penumbra.reproduce.command import main

if __name__ == "__main__":
    sys.exit(main())
