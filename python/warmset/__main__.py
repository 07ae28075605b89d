"""The command line as a module: ``python -m warmset``."""

from warmset.cli import main

if __name__ == "__main__":
    main()
