import type { CatalogEntry } from '../../core/catalog.ts'

interface Example {
  /** The anchor in the page. */
  id: string
  label: string
  code: string
}

/** Of every example, and of the sample video. */
export const samplePrompt = 'a red fox in snow at dusk'

/**
 * Programs that create a video with this model and run as they are. `base` is the URL of the service without a path.
 */
export function examplesOf({ name, card }: CatalogEntry, base: string): Example[] {
  const fields = { model: name, prompt: samplePrompt, seconds: String(card.seconds.default), size: card.size.default }
  const image = card.image === 'required' ? `${base}/docs/images/${card.size.default}.png` : undefined
  return [
    { id: 'curl', label: 'curl', code: curl(fields, base, image) },
    { id: 'python', label: 'Python · pip install openai', code: python(fields, base, image) },
    { id: 'node', label: 'Node · npm install openai', code: node(fields, base, image) },
  ]
}

type Fields = Readonly<Record<string, string>>

function curl(fields: Fields, base: string, image: string | undefined): string {
  const form = Object.entries(fields).map(([name, value]) => `  --form-string ${shell(`${name}=${value}`)}`)
  const json = `{\n${Object.entries(fields)
    .map(([name, value]) => `    "${name}": ${literal(value)}`)
    .join(',\n')}\n  }`
  const body = image
    ? [...form, '  -F image=@image.png']
    : ['  -H "Content-Type: application/json"', `  -d ${shell(json)}`]
  return `${image ? `curl -fsS ${image} -o image.png\n` : ''}ID=$(curl -fsS ${base}/v1/videos \\
  -H "Authorization: Bearer $FILMGATE_TOKEN" \\
${body.join(' \\\n')} \\
  | sed -E 's/.*"id":"(video_[^"]+)".*/\\1/')

until curl -fsS ${base}/v1/videos/$ID -H "Authorization: Bearer $FILMGATE_TOKEN" \\
  | grep -qE '"status":"(completed|failed)"'; do sleep 2; done

curl -fsSL ${base}/v1/videos/$ID/content -H "Authorization: Bearer $FILMGATE_TOKEN" -o video.mp4
`
}

function python(fields: Fields, base: string, image: string | undefined): string {
  const lines = Object.entries(fields).map(([name, value]) => `    ${name}=${literal(value)},`)
  const reference = `    input_reference=("image.png", urlopen("${image}").read(), "image/png"),`
  return `import os
${image ? 'from urllib.request import urlopen\n' : ''}
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["FILMGATE_TOKEN"])
video = client.videos.create_and_poll(
${[...lines, ...(image ? [reference] : [])].join('\n')}
)
assert video.status == "completed", video.error
client.videos.download_content(video.id).write_to_file("video.mp4")
`
}

function node(fields: Fields, base: string, image: string | undefined): string {
  const lines = Object.entries(fields).map(([name, value]) => `  ${name}: ${literal(value)},`)
  const reference = `  input_reference: await toFile(await fetch("${image}"), "image.png", { type: "image/png" }),`
  return `import { writeFile } from "node:fs/promises"
import OpenAI${image ? ', { toFile }' : ''} from "openai"

const openai = new OpenAI({ baseURL: "${base}/v1", apiKey: process.env.FILMGATE_TOKEN })
let video = await openai.videos.create({
${[...lines, ...(image ? [reference] : [])].join('\n')}
})
while (video.status === "queued" || video.status === "in_progress") {
  await new Promise((resolve) => setTimeout(resolve, 2000))
  video = await openai.videos.retrieve(video.id)
}
if (video.status === "failed") throw new Error(video.error.message)
const content = await openai.videos.downloadContent(video.id)
await writeFile("video.mp4", Buffer.from(await content.arrayBuffer()))
`
}

/**
 * A string literal for JSON, JavaScript and Python alike. Everything that is not plain ASCII is escaped: people paste
 * this into a terminal, and a model's name must not look like something else there.
 */
function literal(text: string): string {
  const number = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(text).replace(/[^ -~]/g, number)
}

/** One argument of a shell command. */
function shell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
