"""``python -m minispec``."""

from minispec.cli.main import main

if __name__ == "__main__":
    main()
