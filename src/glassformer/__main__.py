"""`python -m glassformer` and the command `glassformer`. The imports take a while, and may be interrupted too."""

import os
import signal
import sys

from glassformer.messages import Message


def main() -> None:
    """Run a command, whatever the streams are like."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115  (closed by the caller, as >&- does)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without some sign gets its number
        setattr(sys, name, stream)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was begun is put away, as for an interrupt
    try:
        from glassformer.ui.cli import app

        app(prog_name="glassformer")
    except (KeyboardInterrupt, SystemExit) as stop:
        if isinstance(stop, KeyboardInterrupt) or stop.code == 130:
            print(Message("cli.ended", why=Message("cli.interrupted")), file=sys.stderr)
            sys.exit(130)
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        why = Message("cli.cannot_write_output", why=error.strerror)
        print(Message("cli.ended", why=why), file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
