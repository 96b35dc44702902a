# loop and elif, as in "Program Guided Agent": trade what there is most of.
# seed: 5
def run():
  loop(2):
    if agent[gold] >= 3:
      sell(gold)
    elif agent[silver] >= 2:
      sell(silver)
    else:
      mine(iron)
      sell(iron)
  while agent[wood] > 0:
    sell(wood)
