"""`python -m glassformer` and the command `glassformer`. The imports take a while, and may be interrupted too."""

import sys


def main() -> None:
    """Run a command."""
    try:
        from glassformer.cli import app

        app(prog_name="glassformer")
    except KeyboardInterrupt:
        print("glassformer: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
