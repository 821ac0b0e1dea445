/* The small words of the languages that the vocabulary has: what they do to the words beside them. */

/** Words are compared without case and accents. Marks of other scripts stay: が is not か. */
export function plain(text: string): string {
  const bare = text
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
  return bare.normalize('NFC').replaceAll('ß', 'ss')
}

const listed = (words: string): ReadonlySet<string> => new Set(plain(words).split(' '))

/** What follows one of these is not shown. */
export const negators = listed(
  'no not without sin sans pas sem ohne kein keine keinen keinem keiner senza nessun nessuna без',
)
/** Spanish words, as they stand in a sentence: in names they have capitals, as in Las Vegas. */
const spanish = /\b(?:con|el|en|entre|hacia|la|las|los|muy|ni|para|por|sobre|un|una|unos|unas|y)\b/

/** "Sin City" is a name, though `sin` excludes what follows it: a capital before a capital does so in Spanish only. */
export function dropNames(text: string): string {
  return spanish.test(text) ? text : text.replace(/\bS(?:in|IN)(?=[\s-]\p{Lu})/gu, '')
}

/** What comes before this is not shown. Words of languages that put it there are translated to it. */
export const excluder = 'excluded'
/** "Not only a dog" has a dog. */
export const restrictors = listed('only just merely solo solamente nur seulement soltanto')
/** "Not in the city" has no city. */
export const locators = listed('in on at en im am dans')

export const connectors = listed('and or nor y e o u ni et ou und oder ed и или 和 与 或 と や')
/** Connectors by which a list with commas is excluded as a whole. */
export const alternatives = listed('or nor o u ni ou oder или 或')

export const definites = listed(
  'the this that these those his her its their my your our el la los las der die das den dem le les il lo gli i',
)
export const indefinites = listed(
  'a an any other another more single visible un une una unos unas ein eine einen einem einer de d des du uno',
)

/** "A family" is of persons, "a family of foxes" and "a fox family" are of foxes; a pair needs no "of" for that. */
export const collectives = listed('family herd pack flock swarm school group crowd fleet bunch army')
export const pairs = listed('couple pair pareja paar coppia')
export const links = listed('of de di von')
/** Stand between a Japanese word and its number. */
export const particles = listed('が は を')

/** Words without a picture. They are not reported as unknown. */
const fillers = listed(
  [
    'about above across after against all along also am amid among are around as away back be been before behind below',
    'beneath beside between beyond both but by can close do does during each every everywhere for from full has have he',
    'here high how if into is isn it just like look looking make near nearby next none nothing of off one only onto out',
    'over past s she show showing so some t than then there they through to together toward towards under until up upon',
    've very video film movie clip scene shot view image picture camera photo was we were what when where which while',
    'who with within you nobody',
    'al con del desde entre es está hacia hasta más muy para pero por que se sobre su tras',
    'am an auf aus bei beim bis durch für gegen hinter im ist mit nach neben sich sind über um unter vom von vor zu zum zur',
    'au aux avec ce chez dans devant du en entre est leur mais par pour qui sa ses son sont sous sur très vers',
    'al alla con da dal dalla del della di e in nel nella per più su sul sulla tra',
    'в во на над под с со у к по из за о от для при',
  ].join(' '),
)
const small =
  /^[的地得在里裡上中下旁边邊前后後间間一这那此个個只隻条條匹头頭名位座辆輛朵棵了着著是有被把和与のにがはをでとへもやて]+$/u

export function isFiller(word: string): boolean {
  const known = [fillers, negators, restrictors, locators, connectors, definites, indefinites]
  return word === excluder || known.some((words) => words.has(word)) || small.test(word)
}
