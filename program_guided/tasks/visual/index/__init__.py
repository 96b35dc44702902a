"""The index of a release: columns, built from its files once (`building.py`) and memory-mapped (`reading.py`)."""

from program_guided.tasks.visual.index.reading import WIDTH, Batch, Index, QuestionSet

__all__ = ["WIDTH", "Batch", "Index", "QuestionSet"]
