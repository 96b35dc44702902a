"""Commands of the visual task, each a dataclass of options with a method `run`."""
