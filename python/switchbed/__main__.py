"""`python -m switchbed` is `switchbed`."""

from switchbed.cli import main

if __name__ == "__main__":
    main()
