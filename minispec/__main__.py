"""``python -m minispec``."""

import sys

if __name__ == "__main__":
    try:
        from minispec.cli.main import main
    except KeyboardInterrupt:
        print("minispec: interrupted", file=sys.stderr)
        sys.exit(130)
    main()
