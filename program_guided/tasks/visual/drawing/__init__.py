"""Drawings of scenes of the embedded world, of their objects, and of the results of executed programs."""
