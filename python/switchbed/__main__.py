"""`switchbed`, also as `python -m switchbed`."""

import gc
import signal
from typing import NoReturn


def main() -> NoReturn:
    """The program. Until it can say so itself, Ctrl-C ends it as it does any other."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Modules stay: the collector would look at them for nothing, now and as the program ends.
    gc.disable()
    from switchbed import cli

    gc.freeze()
    gc.enable()
    cli.main()


if __name__ == "__main__":
    main()
