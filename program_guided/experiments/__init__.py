"""Experiments: questions that a single command answers with figures."""
