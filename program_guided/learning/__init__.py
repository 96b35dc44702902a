"""Learning: where tasks and models meet."""
