/**
 * Common words of languages with other scripts, by the English word of the vocabulary. Enough for a first try in one's own
 * language; a prompt without a known word gets an abstract film.
 */
export const translations: Readonly<Record<string, string>> = {
  ...{
    fox: '狐狸 狐 きつね キツネ лиса',
    wolf: '狼 オオカミ волк',
    dog: '小狗 狗 犬 いぬ 子犬 собака',
    cat: '小猫 猫咪 猫 ねこ ネコ 子猫 кошка кот',
    lion: '狮子 獅子 ライオン лев',
    tiger: '老虎 虎 トラ тигр',
    bear: '熊 クマ медведь',
    panda: '大熊猫 大熊貓 熊猫 熊貓 パンダ панда',
    rabbit: '兔子 兔 うさぎ ウサギ заяц',
    squirrel: '松鼠 リス белка',
    elephant: '大象 ゾウ слон',
    hippo: '河马 河馬 カバ',
    horse: '马 馬 лошадь',
    zebra: '斑马 斑馬 シマウマ',
    camel: '骆驼 ラクダ',
    deer: '鹿 олень',
    cow: '牛 корова',
    sheep: '绵羊 羊 ヒツジ овца',
    goat: '山羊 ヤギ',
    penguin: '企鹅 ペンギン пингвин',
  },
  ...{
    bird: '小鸟 鸟 鳥 птица',
    gull: '海鸥 カモメ',
    swan: '天鹅 白鳥',
    eagle: '老鹰 鹰 鷹 鷲 орёл',
    owl: '猫头鹰 フクロウ сова',
    butterfly: '蝴蝶 蝶 бабочка',
    dragon: '龙 龍 ドラゴン дракон',
    fish: '鱼 魚 рыба',
    goldfish: '金鱼 金魚',
    whale: '鲸鱼 鲸 鯨 クジラ кит',
    dolphin: '海豚 イルカ дельфин',
    shark: '鲨鱼 サメ акула',
    turtle: '海龟 乌龟 龟 亀 черепаха',
    jellyfish: '水母 クラゲ медуза',
    octopus: '章鱼 タコ',
    squid: '鱿鱼 イカ',
  },
  ...{
    boat: '小船 船 帆船 лодка',
    ship: '轮船 корабль',
    car: '汽车 轿车 車 自動車 машина',
    bus: '公交车 巴士 バス автобус',
    truck: '卡车 トラック',
    train: '火车 列车 電車 列車 поезд',
    bicycle: '自行车 自転車 велосипед',
    plane: '飞机 飛行機 самолёт',
    drone: '无人机 無人機 ドローン',
    rocket: '火箭 ロケット ракета',
    spaceship: '飞船 宇宙船',
    balloon: '热气球 气球 気球',
    tree: '大树 树 木 дерево',
    flower: '花朵 花 цветок',
    sunflower: '向日葵 ひまわり',
    sakura: '樱花 桜',
    mushroom: '蘑菇 キノコ гриб',
    house: '房子 家 дом',
    castle: '城堡 お城 замок',
    lighthouse: '灯塔 灯台 маяк',
    windmill: '风车 風車',
    bridge: '大桥 桥 橋 мост',
  },
  ...{
    person: '人 人们 人类 行人 老人 человек',
    man: '男人 男子 男性 мужчина',
    woman: '女人 女子 女性 女の人 美女 женщина',
    boy: '男孩 少年 мальчик',
    girl: '女孩 少女 女の子 девочка девушка',
    child: '孩子 小孩 儿童 子供 子ども ребёнок',
    couple: '情侣 夫妻 恋人 カップル',
    crowd: '人群 人混み',
    wizard: '魔法师 魔法使い',
    knight: '骑士 騎士 рыцарь',
    dancer: '舞者 ダンサー',
    astronaut: '宇航员 宇宙飛行士 космонавт',
    robot: '机器人 機器人 ロボット робот',
    'two person': '两人 二人 ふたり',
    'three person': '三人',
    two: '两 兩 二 一对 二人の ふたりの',
    three: '三 三人の',
    four: '四',
    five: '五',
    many: '很多 许多 たくさんの',
  },
  ...{
    beach: '海滩 沙滩 海边 海辺 浜辺 пляж',
    sea: '大海 海洋 海 море',
    underwater: '水下 海底 水中',
    mountain: '高山 山 горы',
    volcano: '火山 вулкан',
    'snow mountain': '雪山',
    forest: '森林 树林 竹林 森 лес',
    desert: '沙漠 砂漠 пустыня',
    city: '城市 都市 街 街道 马路 通り 東京 город',
    room: '房间 部屋 室内 комната',
    space: '太空 宇宙 космос',
    lake: '湖泊 湖 озеро',
    river: '河流 河 川 река',
    sky: '天空 空 небо',
    garden: '花园 公园 公園 庭 сад',
    meadow: '草原 草地 田野 луг',
  },
  ...{
    rain: '雨 дождь',
    snow: '大雪 雪 雪地 снег',
    storm: '暴风雨 嵐 буря',
    fog: '雾 霧 туман',
    wind: '大风 风 風 ветер',
    spring: '春天 春 весна',
    summer: '夏天 夏 лето',
    autumn: '秋天 秋 осень',
    winter: '冬天 冬 зима',
    night: '夜晚 夜 月亮 星空 ночь',
    sunset: '日落 夕阳 夕日 黄昏 закат',
    sunrise: '日出 清晨 朝日 рассвет',
    day: '白天 昼 день',
    firework: '烟花 花火',
    red: '红色 赤い 红 красный',
    blue: '蓝色 青い 蓝 синий',
    green: '绿色 緑の зелёный',
    yellow: '黄色 жёлтый',
    white: '白色 白い 白 белый',
    black: '黑色 黒い чёрный',
    christmas: 'クリスマス',
    without: '没有 沒有',
    'without person': '无人 無人 没人',
    excluded: 'なし 無し のない のいない がない がいない はいない 抜き',
  },
}

/** Words that a known one is a part of, and that mean something else. */
const others =
  '海马 马上 抽象 印象 现象 人工 人工智能 人生 人间 主人 诗人 人参 人形 人気 雪人 雪だるま 雪糕 花生 花瓶 火花 风格 风景 风光 風景 热狗 龙虾 牛奶 牛仔 牛乳 鱼缸 木头 木马 国家 作家 画家 大家 家具 家族 空气 空気 空间 空手 航空 海报 海外 街舞 三明治 二手 四川 白菜 白黒'

const dictionary = new Map<string, string>(others.split(' ').map((word) => [word, word]))
for (const [english, words] of Object.entries(translations))
  for (const word of words.split(' ')) dictionary.set(word, english)
const longestWord = Math.max(...[...dictionary.keys()].map((word) => word.length))

/** Cyrillic words have spaces around them, and katakana begins a word: these count only as a whole. */
export function translated(prompt: string): string {
  return prompt
    .replace(/\p{Script=Cyrillic}+|[ァ-ヺー]+/gu, (word) => ` ${dictionary.get(word.toLowerCase()) ?? word} `)
    .replace(/[\p{Script=Han}\p{Script=Hiragana}]+/gu, split)
}

/** At each place the longest word wins: 熊猫 is a panda, not a bear and a cat. */
function split(text: string): string {
  let [words, at] = ['', 0]
  while (at < text.length) {
    let length = Math.min(longestWord, text.length - at)
    while (length > 1 && !dictionary.has(text.slice(at, at + length))) length -= 1
    const part = text.slice(at, at + length)
    const english = dictionary.get(part)
    words += english === undefined ? part : ` ${english} `
    at += length
  }
  return words
}
