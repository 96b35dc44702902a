"""Program-guided visual reasoning: GQA as it is released, and a picture world of our own in the same formats.

`domain.py` is the language, `release.py` reads the files, `oracle.py` executes a program on a scene graph,
`targets.py` makes its results learnable, `metrics.py` scores answers, `scenes.py` and `questions.py` make the
embedded world. Importing this package imports none of them.
"""
