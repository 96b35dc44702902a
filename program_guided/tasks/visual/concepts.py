"""Concepts of the questions: hypernyms, values of categories, and values that exclude each other. Data only, read by
`ontology.py`.

Departures from the paper: it leaves these to the annotations. The tree was written from the available questions, for
those who do not have the release's own files; a name outside of it covers itself alone.
"""

from __future__ import annotations

__all__ = ["CHILDREN", "CONVERSE", "GROUPS", "IMPLIED", "RELATION_ANSWERS", "UNHEALTHY", "UPPER", "VALUES", "WHOLESOME"]

CHILDREN = {
    "person": "man,woman,child,lady,guy,gentleman,player,people,men,women,family,couple,crowd,audience,skateboarder,"
    "skater,batter,soccer player,athlete,umpire,snowboarder,pilot,skier,catcher,pitcher,surfer,policeman,jockey,driver,"
    "bus driver,spectator,spectators,pedestrian,cyclist,mother,father,baseball players,coach,soldiers,chef,farmer",
    "child": "boy,girl,baby,kid,children,toddler",
    "animal": "cat,dog,horse,cow,sheep,elephant,giraffe,zebra,bear,goat,deer,bison,bird,kitten,puppy,calf,bull,monkey,"
    "rabbit,horses,cows,dogs,cats,elephants,giraffes,zebras,goats",
    "bird": "duck,eagle,goose,ducks,geese,birds,parrot",
    "vehicle": "car,van,truck,bus,train,suv,trailer,minivan,ambulance,fire truck,motorcycle,bicycle,bike,cars,trucks,"
    "buses,tractor,scooter,watercraft,aircraft",
    "watercraft": "boat,sailboat,ship,canoe,boats,sailboats,kayak",
    "aircraft": "airplane,helicopter,jet,airplanes",
    "furniture": "chair,table,couch,sofa,shelf,shelves,cabinet,cabinets,desk,bed,cupboard,cupboards,side table,"
    "coffee table,computer desk,bookcase,bookshelf,entertainment center,closet,nightstand,tv stand,drawer,drawers,"
    "dresser,ottoman,bench,stool,chairs,tables,desks,beds",
    "device": "keyboard,laptop,television,phone,speaker,monitor,computer,cell phone,computer monitor,remote control,"
    "camera,computer mouse,wii controller,screen,router,headphones,dvd player,charger,radio,calculator,controller,"
    "laptops,phones,telephone",
    "appliance": "stove,toaster,refrigerator,blender,oven,dishwasher,microwave,radiator,coffee maker,heater,"
    "microwave oven,washing machine",
    "clothing": "shirt,jacket,coat,dress,pants,jeans,shorts,hat,cap,helmet,sweater,sweatshirt,skirt,suit,vest,uniform,"
    "shoe,shoes,boot,boots,glove,gloves,sock,socks,scarf,tie,belt,apron,robe,blouse,dress shirt,tank top,t-shirt,"
    "jersey,wetsuit,underwear,sneakers,gown,coats,snow pants,outfit,clothes",
    "food": "fruit,vegetable,meat,fast food,baked good,dessert,egg,eggs,cheese,soup,sandwich,sandwiches,rice,candy,"
    "sausage,chocolate,pancake,sour cream,dip,marshmallow",
    "fruit": "apple,banana,orange,pear,strawberry,grapes,berries,apples,bananas,lemon,raspberry,oranges",
    "vegetable": "broccoli,carrot,carrots,potato,beans,cabbage,tomato,tomatoes,cauliflower,onion,pickles,pepper,squash,"
    "spinach,vegetables,olives",
    "meat": "ham,bacon,burger,chicken,pepperoni,steak",
    "fast food": "fries,hot dog,hot dogs,hamburger,pizza",
    "baked good": "pie,donut,donuts,waffles,bread,cookie,cookies,bagel",
    "dessert": "cake,cupcake,cupcakes,brownie,ice cream,whipped cream",
    "drink": "coffee,wine,beer,juice,liquor,alcohol,tea",
    "bag": "backpack,purse,handbag,trash bag,suitcase",
    "toy": "doll,ball,kite,teddy bear,stuffed bear,stuffed dog,dolls,frisbee",
    "container": "bag,box,basket,bowl,cup,bottle,vase,bucket,jar,boxes,planter,coffee cup,water bottle,wine bottle",
    "utensil": "fork,knife,spoon,cooking utensil",
    "cooking utensil": "pan,pot,coffee pot,baking pan,cutting board,tea kettle",
    "sign": "street sign,traffic sign,stop sign",
    "place": "field,ground,grass,beach,floor,sand,lawn,street,snow,stage,park,skate park,parking lot,pavement,sidewalk,"
    "plain,ocean,road,dirt,mountain side,yard",
    "plant": "tree,bush,flower,flowers,trees,bushes,cactus,plants",
}
"""Hypernym -> its direct hyponyms."""

VALUES = {
    "activity": "looking down,staring,playing,looking up,waiting,talking,eating,posing,sleeping,resting,reading,"
    "driving,drinking,having meeting,cooking,singing",
    "age": "young,old",
    "brightness": "bright,dark",
    "cleanliness": "clean,dirty,stained,tinted",
    "color": "white,black,brown,blue,green,red,gray,silver,yellow,dark,orange,pink,light brown,beige,tan,purple,blond,"
    "dark brown,gold,light blue,brunette,dark blue,teal,cream colored,khaki,maroon",
    "company": "adidas,nike",
    "depth": "shallow,deep",
    "face expression": "happy,sad,unhappy,angry,calm",
    "fatness": "fat,skinny,thin",
    "flavor": "chocolate,vanilla,strawberry",
    "gender": "male,female",
    "hardness": "soft,hard",
    "height": "tall,short",
    "length": "long,short",
    "location": "indoors,outdoors",
    "material": "wood,metal,plastic,glass,cloth,concrete,leather,porcelain,stainless steel,cotton,paper,stone,brick,"
    "aluminum,granite,steel,wire,rubber,asphalt,cobblestone,cardboard,denim,marble,lace,chrome,iron,clay,hardwood,tin,"
    "bronze,bamboo",
    "opaqness": "clear,opaque",
    "orientation": "horizontal,vertical",
    "pattern": "striped,dotted,checkered,plaid",
    "place": "street,beach,field,lawn,skate park,park,sidewalk,pasture,restaurant,city,plain,patio,school,runway,"
    "courtyard,pavement,forest,stadium,lake,railroad,farm,road,swimming pool,parking lot,market,train station,ocean,"
    "office,bedroom,kitchen,living room,bathroom",
    "pose": "standing,sitting,walking,jumping,running,crouching,lying,bending,pointing",
    "race": "caucasian,asian",
    "realism": "real,fake",
    "room": "office,bedroom,kitchen,living room,bathroom",
    "shape": "round,rectangular,square,triangular,octagonal",
    "size": "small,large,huge,little,tiny,giant",
    "sport": "tennis,baseball",
    "sportActivity": "riding,skating,skiing,skateboarding,performing trick,surfing",
    "state": "smooth,still,rough,calm,wavy,choppy",
    "texture": "fine,coarse",
    "thickness": "thin,thick",
    "tone": "light,dark",
    "weather": "cloudy,clear,sunny,cloudless,overcast,partly cloudy,foggy,rainy",
    "weight": "heavy,light",
    "width": "wide,narrow",
}
"""Category -> its values. Positions are not included: they are computed from the box."""

GROUPS = (
    "open,closed",
    "full,empty",
    "wet,dry",
    "on,off",
    "long sleeved,short sleeved,sleeveless",
    "high,low",
    "new,old,antique",
    "cooked,raw",
    "comfortable,uncomfortable",
    "healthy,unhealthy",
    "beautiful,ugly",
    "colorful,black and white",
    "leafy,leafless,bare",
)
"""Values of the bare operations that exclude each other."""

IMPLIED = {
    "male": "man,boy,guy,gentleman,policeman,father,men",
    "female": "woman,girl,lady,mother,women",
    "young": "child,boy,girl,baby,kid,children,toddler,kitten,puppy,calf",
}
"""Attribute -> the names that imply it."""

CONVERSE = {
    "larger": "smaller",
    "bigger": "smaller",
    "smaller": "larger",
    "taller": "shorter",
    "shorter": "taller",
    "higher": "lower",
    "lower": "higher",
    "older": "younger",
    "younger": "older",
    "healthier": "less healthy",
    "less healthy": "healthier",
}
"""Comparative -> the one that holds of the same two objects the other way round."""

RELATION_ANSWERS = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
"""Relation -> answer of `choose rel`, where they differ."""

WHOLESOME = "fruit,vegetable"
UNHEALTHY = "fast food,dessert,baked good"
"""Kinds of food that are healthy, and that are not."""

UPPER = {
    "bird": "animal",
    "aircraft": "vehicle",
    "watercraft": "vehicle",
    "tree": "plant",
    "fruit": "food",
    "vegetable": "food",
    "meat": "food",
    "fast food": "food",
    "baked good": "food",
    "pastry": "baked good",
    "dessert": "food",
    "meal": "food",
    "ingredient": "food",
    "sauce": "food",
    "bag": "container",
    "bottle": "container",
    "footwear": "clothing",
    "crowd": "person",
    "audience": "person",
    "couple": "person",
    "family": "person",
    "chicken": "meat",
    "road": "place",
    "room": "place",
    "nature environment": "place",
    "urban environment": "place",
    "sand": "place",
    "snow": "place",
    "dirt": "place",
    "grass": "place",
}
"""Name or category of the release's files -> a category above it, which they do not give and real questions ask for."""
