"""``python -m minispec`` and the ``minispec`` command: Ctrl-C is one line from the first import to the last."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Import the command line, run it and exit."""
    try:
        from minispec.cli.main import main as run

        run()
    except KeyboardInterrupt:  # while it was imported, or once it had said what it had to say
        print("minispec: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
