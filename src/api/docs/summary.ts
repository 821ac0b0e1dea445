import type { Catalog } from '../../core/catalog.ts'
import type { Document } from '../openapi/document.ts'
import { visible } from './html.ts'
import { addressOf } from './model.ts'

/** More than a reader would use. All are in `GET /v1/models`. */
const mostModels = 100

/** `/llms.txt`: the API in short, as Markdown with links. `base` is the URL of the service without a path. */
export function writeSummary(document: Document, catalog: Catalog, base: string): string {
  const { info, tags, paths } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter((one) => one.tags.some((tag) => tag === name))
    const lines = own.map(({ method, path, operationId, summary }) => {
      const link = `[${method.toUpperCase()} ${path}](${base}/docs#tag/${name.toLowerCase()}/${operationId})`
      return `- ${link}: ${summary}`
    })
    return [`## ${name}`, '', description, '', ...lines].join('\n')
  })
  const shown = [...catalog.entries.values()].slice(0, mostModels)
  const models = shown.map(({ name, card }) => {
    const meaning = name === card.id ? card.description : `Alias of ${card.id}`
    // A parenthesis would end the link.
    const address = addressOf(name).replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
    return `- [${plain(name)}](${base}${address}): ${plain(meaning)}`
  })
  return [
    `# ${info.title}`,
    `> ${info.summary}`,
    info.description,
    usage(base),
    `## Models of this service\n\n${models.join('\n')}`,
    ...sections,
    `## Everything\n\n- [openapi.json](${base}/openapi.json): every route and shape, OpenAPI 3.1\n- [Reference](${base}/docs)`,
    '',
  ].join('\n\n')
}

function usage(base: string): string {
  return `Every request has the header \`Authorization: Bearer <token>\`. The base URL of OpenAI's SDKs is \`${base}/v1\`.

1. Create: \`POST ${base}/v1/videos\` with JSON \`{"model": "…", "prompt": "…", "seconds": "4", "size": "1280x720"}\` returns an \`id\` at once.
2. Wait: \`GET ${base}/v1/videos/{id}\` until \`status\` is \`completed\` or \`failed\`; \`?wait=60\` waits for the end.
3. Download: \`GET ${base}/v1/videos/{id}/content\` is an MP4.`
}

/** One line, in which nothing is Markdown. */
function plain(text: string): string {
  return visible(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_[\]<>#|]/g, '\\$&')
}
