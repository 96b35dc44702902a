"""The 2D Minecraft world of "Program Guided Agent" and ProTo: the first open implementation.

`rules.py` says what the world is, `kernels.py` runs it, `planner.py` is the oracle, `generator.py` makes worlds,
`environment.py` is the Gymnasium side. Importing this package imports none of them.
"""
