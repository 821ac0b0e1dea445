/* Two hundred prompts as people write them: for the tests, and for a look at what they become. */

const subjectPrompts = `
a red fox running through a snowy forest
a fox in the city at night
a red fox
a red fox sleeping
two foxes in the autumn woods
a wolf howling at the moon
a pack of wolves in winter
a golden retriever puppy on the beach
a black dog running along the shore at dawn
a cat playing the piano in a cozy room
an orange cat looking out of the window on a rainy day
three kittens in a basket
a lion in the savanna at sunset
a tiger walking through the jungle
a brown bear by a river
a polar bear on the ice
a white rabbit hopping in a meadow
an elephant family crossing the desert
a white horse galloping on the beach
three horses running in slow motion
a unicorn in an enchanted forest
a deer in the misty forest at sunrise
a reindeer in the snow at christmas
a cow on a green hill
sheep in a valley, aerial view
five penguins dancing
an eagle soaring over the mountains
a flock of birds at dusk
seven swallows above the sea
a pink flamingo by the lake
an owl flying at midnight
a monarch butterfly on a flower, macro
blue butterflies in a spring garden
a bee in a field of sunflowers
a green dragon breathing fire over a castle
a black dragon in a thunderstorm
a goldfish
a school of fish around a coral reef
a whale swimming under the ice
a whale flying over the city
two dolphins at sunset
a sea turtle, underwater, sun rays
glowing jellyfish in the deep sea
a sailboat on a calm sea
a sailboat in a storm
a small wooden boat on a mountain lake
a cruise ship leaving the harbor in the evening
a pirate ship in the fog
a blue car driving through the desert
a red sports car in the rain, tracking shot
a yellow taxi in new york
a school bus on a country road
an old steam train crossing a bridge
a train in the snow
a cyclist on a mountain road
a bicycle by the sea
a plane above the clouds
a jet flying over tokyo at night
a rocket launching into space
a spaceship passing saturn
a hot air balloon at sunrise
hot air balloons over a valley, slow pan left
an alien saucer over a farm
a lonely tree on a hill
cherry blossom trees in the wind
an oak in autumn, falling leaves
a red rose
tulips in spring
a giant mushroom in the forest
a cactus under the stars
a cottage in the snow with smoke from the chimney
a house on a cliff
a castle in the clouds
a medieval castle at dawn, zoom out
a lighthouse in a storm at night
a red lighthouse on a sunny day
a windmill in a tulip field
three windmills in holland
a bridge over a foggy river
a golden bridge at night
a woman walking alone on the beach
a man with an umbrella in the rain
a child and a dog in a park
a knight and a dragon
a wizard in a library
a ballerina dancing in an empty room
dancers in the moonlight
an astronaut riding a horse on mars
an astronaut floating in space
an astronaut walking on the moon
a diver and a whale
a robot in a neon city
a robot watering flowers
a fox and a robot
a fox and an owl in a winter forest
a cat, a dog and a rabbit
a robot, a dragon and a castle
a car, a bus and a train
three birds and a whale
a boat and a lighthouse
`

const placePrompts = `
a calm sea at sunset
a stormy ocean with lightning
waves on a tropical beach in summer
an empty beach in winter
a coral reef
a river through a valley
a frozen lake
snowy mountains at dawn
a volcano at night
a canyon at noon
a misty forest in the morning
a bamboo forest in the wind
a pine forest in the rain
sand dunes under a full moon
an oasis
a neon city in the rain
the skyline of shanghai at dusk
a quiet village street in spring
rooftops of paris in autumn
the milky way
a nebula in purple and teal
a planet with rings
a cozy living room with a fireplace
an old library
a kitchen in the morning sun
a meadow full of flowers
a wheat field in the wind
rolling hills, orbit shot
a garden at night with fireflies
above the clouds at sunrise
clouds in slow motion
a rainy afternoon
a foggy morning
a blizzard
a windy day in october
first snow
an autumn afternoon
spring is coming
a summer night
golden hour
twilight in blue
a red desert
a green sea
a violet mountain lake
aerial view of a coast
pan right across the alps
tilt up from a field to the sky
zoom in on a distant mountain
static shot of a pond
handheld shot in a dark forest
`

const otherPrompts = `
hello world
test
the meaning of life
quantum entanglement explained
the sound of silence
a poem about nothing
melancholy
joy
pure energy, fast
slow thoughts in blue
red
green and gold
abstract shapes
liquid metal
the fourth dimension
mathematics
an idea is born
time passes
corporate synergy
make it pop
asdf
1234567890
!!!
...
the quick brown something
memory of a melody
jazz
techno at 140 bpm
a letter to my grandmother
democracy
the taste of coffee
velocity
gravity
a dream within a dream
infinite regress
soft focus
minimalism
baroque
kaleidoscope
breathe
猫がピアノを弾く
海边的日落
лиса в лесу
закат над морем
مرحبا بالعالم
שלום עולם
สวัสดีชาวโลก
안녕하세요
un zorro rojo en el bosque
ein schloss im schnee
`

export const prompts: readonly string[] = [subjectPrompts, placePrompts, otherPrompts].flatMap((list) =>
  list.trim().split('\n'),
)
