import type { PlayRequest } from './playground.ts'

/* A request as code to copy. Texts of people are quoted for the language that they are in. */

interface Sample extends PlayRequest {
  /** Where the service is: `useClientUrl`. */
  origin: string
  /** The name of the image file; null if there is no image. */
  image: string | null
  /** A comment for the parameters that the command line has no option for. */
  lacks(names: string): string
}

/** The same request for each tool, by its name. */
export function samplesOf(sample: Sample): Record<string, string> {
  return { curl: curl(sample), Node: node(sample), Python: python(sample), CLI: commandLine(sample) }
}

/** Codes that a terminal obeys, and marks of direction: a prompt of somebody else must not type a command when it is pasted. */
const hidden = /(?![\n\t])[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** For a shell: a quote within the text ends it there. */
function quoted(text: string): string {
  if (text.search(hidden) < 0) return `'${text.replaceAll("'", `'\\''`)}'`
  return `$'${text.replace(/[\\']/g, '\\$&').replace(hidden, escaped)}'`
}

/** For JSON, JavaScript and Python. */
function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(hidden, escaped)
}

function curl({ origin, path, body, image }: Sample): string {
  const head = [`curl ${origin}${path}`, '-H "Authorization: Bearer $FILMGATE_TOKEN"']
  if (image === null)
    return [...head, '-H "Content-Type: application/json"', `-d ${quoted(toJson(body))}`].join(newLine)
  // `--form-string`: a text that begins with @ is not a file.
  const fields = Object.entries(body).map(([name, value]) => `--form-string ${quoted(`${name}=${value}`)}`)
  return [...head, ...fields, `-F ${quoted(`image=@"${inQuotes(image)}"`)}`].join(newLine)
}

const newLine = ' \\\n  '

function inQuotes(name: string): string {
  return name.replace(/["\\]/g, '\\$&')
}

const methods: Readonly<Record<string, string>> = { '/v1/videos/edits': 'edit', '/v1/videos/extensions': 'extend' }

/** The method of OpenAI's SDKs for a path, and the video that is not part of its body. */
function methodOf(path: string): { method: string; id: string | null } {
  const id = /^\/v1\/videos\/([^/]+)\/remix$/.exec(path)?.[1]
  if (id !== undefined) return { method: 'remix', id: decodeURIComponent(id) }
  return { method: methods[path] ?? 'create', id: null }
}

function node({ origin, path, body, image }: Sample): string {
  const { method, id } = methodOf(path)
  const fields = toJson(body, 2)
  const file = image === null ? '' : `,\n  "input_reference": createReadStream(${toJson(image)})\n}`
  const given = image === null ? fields : fields.replace(/\n\}$/, () => file)
  return [
    ...(image === null ? [] : ["import { createReadStream } from 'node:fs'"]),
    "import OpenAI from 'openai'",
    '',
    `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.FILMGATE_TOKEN })`,
    `const video = await client.videos.${method}(${id === null ? '' : `${toJson(id)}, `}${given})`,
    'console.log(video.id)',
  ].join('\n')
}

/** The arguments of the SDK; others are sent in `extra_body`, also the id of a stored video. */
const known: Readonly<Record<string, readonly string[]>> = {
  create: ['model', 'prompt', 'seconds', 'size'],
  remix: ['prompt'],
  edit: ['prompt'],
  extend: ['prompt', 'seconds'],
}

function python({ origin, path, body, image }: Sample): string {
  const { method, id } = methodOf(path)
  const names = known[method] ?? []
  const own = Object.entries(body).filter(([name]) => names.includes(name))
  const extra = Object.entries(body).filter(([name]) => !names.includes(name))
  const lines = [
    ...(id === null ? [] : [toJson(id)]),
    ...own.map(([name, value]) => `${name}=${literal(value)}`),
    ...(image === null ? [] : [`input_reference=open(${toJson(image)}, "rb")`]),
    ...('video' in body ? ['video=openai.omit'] : []),
    ...(extra.length === 0 ? [] : [`extra_body=${literal(Object.fromEntries(extra))}`]),
  ]
  return [
    'import os',
    'import openai',
    '',
    `client = openai.OpenAI(base_url="${origin}/v1", api_key=os.environ["FILMGATE_TOKEN"])`,
    `video = client.videos.${method}(\n${lines.map((line) => `    ${line},\n`).join('')})`,
    'print(video.id)',
  ].join('\n')
}

/** A value in Python, whose texts may be written like those of JSON. */
function literal(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object' || value === null) return toJson(value)
  return `{${Object.entries(value)
    .map(([name, one]) => `${toJson(name)}: ${literal(one)}`)
    .join(', ')}}`
}

function commandLine({ origin, path, body, image, lacks }: Sample): string {
  const { method, id } = methodOf(path)
  const { prompt, video, caption, ...others } = body
  const options = ['model', 'seconds', 'size', 'seed'].filter((name) => name in others)
  const source = id ?? (typeof video === 'object' ? video.id : null)
  const text = String(prompt)
  const words = [
    `npx filmgate ${method === 'create' ? 'generate' : method}${source === null ? '' : ` ${source}`}`,
    ...(text.startsWith('-') ? [] : [quoted(text)]),
    ...options.map((name) => `--${name} ${quoted(String(others[name]))}`),
    ...(caption === false ? ['--no-caption'] : []),
    ...(image === null ? [] : [`--image ${quoted(image)}`]),
    `--base-url ${origin}/v1`,
    // Otherwise it would be read as an option.
    ...(text.startsWith('-') ? [`-- ${quoted(text)}`] : []),
  ]
  const missing = Object.keys(others).filter((name) => !options.includes(name))
  return [...(missing.length > 0 ? [`# ${lacks(missing.join(', '))}`] : []), words.join(newLine)].join('\n')
}
