"""The 2D Minecraft world of "Program Guided Agent" and ProTo: the first open implementation.

`rules.py` defines the world, `kernels.py` runs it, `planner.py` is the oracle, `generator.py` makes worlds,
`environment.py` is the Gymnasium interface. Importing this package imports none of them.
"""
