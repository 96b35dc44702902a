# The example of "Program Guided Agent": cross the river if there is one, then fetch all the gold.
# seed: 9
def run():
  if is_there[River]:
    mine(Wood)
    build_bridge()
    if agent[Iron] < 3:
      mine(Iron)
    place(Iron, 1, 1)
  else:
    goto(4, 2)
  while env[Gold] > 0:
    mine(Gold)
