"""`switchbed`, also as `python -m switchbed`."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    """The program. Until it can say so itself, Ctrl-C ends it as it does any other."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from switchbed import cli

    cli.main()


if __name__ == "__main__":
    main()
