# The paper's first figure: is the bag to the left of the wine? (The embedded world has bottles for wine.)
# seed: 875
wine = select(bottle)
left = relate(wine, bag, "to the left of", subject)
exist(left)
