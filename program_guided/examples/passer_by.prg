# Two questions about a vehicle, executed in parallel: is someone to its right, and is it of another color than red?
# seed: 207
vehicle = select(vehicle)
person = relate(vehicle, person, "to the right of", subject)
someone = exist(person)
other = filter_color(vehicle, "not(red)")
exists = exist(other)
and(someone, exists)
