import { deriving } from './derive.ts'

export const command = deriving(
  'edit',
  `Usage: filmgate edit ID|FILE PROMPT [options]

Changes a video of the server, or an MP4 file, by a prompt, and fetches the new
one. Prints the path of the file.

Examples:
  filmgate edit video_0199… "the same at night"
  filmgate edit fox.mp4 "in the rain" -o rain.mp4
`,
)
