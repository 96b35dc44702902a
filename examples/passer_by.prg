# Two questions about a vehicle, carried out at the same time: is someone to its right, and is it of another color than red?
# proto run examples/passer_by.prg --task visual --seed 6 --png out/passer_by.png
vehicle = select(vehicle)
person = relate(vehicle, person, "to the right of", subject)
someone = exist(person)
other = filter_color(vehicle, "not(red)")
exists = exist(other)
and(someone, exists)
