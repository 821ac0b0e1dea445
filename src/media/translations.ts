/**
 * A few common words of scripts whose words have no spaces or other letters, as the English words that the vocabulary
 * has. Enough for a first try in one's own language; whatever is not here gets an abstract film.
 */
export const translations: readonly (readonly [from: string, to: string])[] = [
  ...([
    ['狐狸', 'fox'],
    ['狐', 'fox'],
    ['きつね', 'fox'],
    ['猫', 'cat'],
    ['ねこ', 'cat'],
    ['犬', 'dog'],
    ['狗', 'dog'],
  ] as const),
  ...([
    ['鸟', 'bird'],
    ['鳥', 'bird'],
    ['猫头鹰', 'owl'],
    ['鱼', 'fish'],
    ['魚', 'fish'],
    ['鲸', 'whale'],
    ['馬', 'horse'],
  ] as const),
  ...([
    ['马', 'horse'],
    ['鹿', 'deer'],
    ['熊', 'bear'],
    ['兔', 'rabbit'],
    ['大象', 'elephant'],
    ['龙', 'dragon'],
    ['龍', 'dragon'],
  ] as const),
  ...([
    ['船', 'boat'],
    ['汽车', 'car'],
    ['火车', 'train'],
    ['電車', 'train'],
    ['飞机', 'plane'],
    ['飛行機', 'plane'],
  ] as const),
  ...([
    ['火箭', 'rocket'],
    ['气球', 'balloon'],
    ['树', 'tree'],
    ['花', 'flower'],
    ['城堡', 'castle'],
    ['灯塔', 'lighthouse'],
  ] as const),
  ...([
    ['宇航员', 'astronaut'],
    ['宇宙飛行士', 'astronaut'],
    ['机器人', 'robot'],
    ['ロボット', 'robot'],
    ['女孩', 'girl'],
  ] as const),
  ...([
    ['海滩', 'beach'],
    ['海', 'sea'],
    ['山', 'mountain'],
    ['森林', 'forest'],
    ['森', 'forest'],
    ['沙漠', 'desert'],
  ] as const),
  ...([
    ['城市', 'city'],
    ['東京', 'city'],
    ['太空', 'space'],
    ['宇宙', 'space'],
    ['湖', 'lake'],
    ['雨', 'rain'],
    ['雪', 'snow'],
  ] as const),
  ...([
    ['夜', 'night'],
    ['日落', 'sunset'],
    ['夕日', 'sunset'],
    ['日出', 'sunrise'],
    ['红色', 'red'],
    ['蓝色', 'blue'],
  ] as const),
  ...([
    ['лиса', 'fox'],
    ['кошка', 'cat'],
    ['кот', 'cat'],
    ['собака', 'dog'],
    ['птица', 'bird'],
    ['лошадь', 'horse'],
  ] as const),
  ...([
    ['море', 'sea'],
    ['лес', 'forest'],
    ['горы', 'mountains'],
    ['город', 'city'],
    ['космос', 'space'],
    ['ночь', 'night'],
  ] as const),
  ...([
    ['закат', 'sunset'],
    ['дождь', 'rain'],
    ['снег', 'snow'],
    ['корабль', 'ship'],
    ['дракон', 'dragon'],
  ] as const),
]

const isSpaced = ([word]: (typeof translations)[number]) => /\p{Script=Cyrillic}/u.test(word)
/** Words with spaces around them must be whole: the others may stand anywhere. */
const whole = new Map(translations.filter(isSpaced))
/** Longer words first: a part of a word would mean something else. */
const anywhere = translations.filter((entry) => !isSpaced(entry)).sort(([a], [b]) => b.length - a.length)

export function translated(prompt: string): string {
  let text = prompt.replace(/\p{L}+/gu, (word) => {
    const english = whole.get(word.toLowerCase())
    return english === undefined ? word : ` ${english} `
  })
  for (const [from, to] of anywhere) if (text.includes(from)) text = text.replaceAll(from, ` ${to} `)
  return text
}
