# Lay out a pattern: the three shapes in the corner, fetched wherever they lie.
# seed: 2
def run():
  place(triangle, 1, 1)
  place(circle, 2, 1)
  place(rectangle, 3, 1)
  if is_there[wall]:
    goto(5, 5)
