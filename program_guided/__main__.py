"""`python -m program_guided` is `proto`."""

from program_guided.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
