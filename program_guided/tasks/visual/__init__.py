"""Program-guided visual reasoning: the GQA release, and the embedded picture world in the same formats.

`domain.py` is the language, `oracle.py` executes a program on a scene graph, `targets.py` turns its results into
training targets, `metrics.py` scores answers; `release/` reads the files, `index/` makes them fast to read,
`embedded/` generates the embedded world, `drawing/` draws it, `photographs/` learns from photographs. Importing this
package imports none of them.
"""
