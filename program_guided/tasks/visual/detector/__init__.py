"""A small detector of our own: boxes, names, attributes and vectors of the objects of drawn pictures."""
