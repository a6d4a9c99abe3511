"""`penumbra` and `python -m penumbra`: the command line.

Its modules take a third of a second to load. An interrupt is one line in that time too.
"""

import sys


def main() -> None:
    try:
        from penumbra.commands.main import main as run

        run()
    except KeyboardInterrupt:
        print("penumbra: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
