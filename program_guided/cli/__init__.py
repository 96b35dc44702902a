"""The command line: one file a command, each a frozen dataclass whose fields are its options."""
