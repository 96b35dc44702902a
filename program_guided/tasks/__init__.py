"""Program-guided tasks, one folder each. A task knows nothing of models."""
