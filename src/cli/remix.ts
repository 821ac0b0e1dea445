import { deriving } from './derive.ts'

export const command = deriving(
  'remix',
  `Usage: filmgate remix ID PROMPT [options]

Makes another version of a video by another prompt, and fetches it. Prints the
path of the file.

Examples:
  filmgate remix video_0199… "the same at night"
  filmgate remix video_0199… "in the rain" -o rain.mp4
`,
)
