"""The world itself: rules, compiled kernels, planner and generator over many worlds at once. Needs no torch."""
