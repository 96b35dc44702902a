"""GQA's own files as they lie on disk: which there are, and their questions, scene graphs and choices, streamed."""
