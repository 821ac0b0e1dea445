import { deriving } from './derive.ts'

export const command = deriving(
  'extension',
  `Usage: filmgate extend ID|FILE PROMPT --seconds N [options]

Makes a longer video: it begins with the given one and goes on from its last
picture for N seconds more. Prints the path of the file.

Examples:
  filmgate extend video_0199… "night falls" --seconds 4
  filmgate extend fox.mp4 "the fox looks up" --seconds 8 -o longer.mp4
`,
)
