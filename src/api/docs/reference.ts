import { problemCodes } from '../../core/codes.ts'
import type { Schemas } from '../../wire/schema.ts'
import { type Document, type Response, responseSchemas } from '../openapi/document.ts'
import { type Field, fieldsOf, fieldTable, join, typeOf } from './fields.ts'
import { type Html, html, inline, type Part, prose } from './html.ts'
import { codeBlock, heading, renderPage, table } from './page.ts'
import { resolve, sampleOf } from './sample.ts'

type Operation = Document['paths'][string][string]

interface Listed {
  method: string
  path: string
  operation: Operation
}

/** The whole document as a page; `base` is the URL of the service. */
export function renderReference(document: Document, base: string): string {
  const { tags, components, info } = document
  const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  const of = (tag: string) => listed.filter(({ operation }) => operation.tags.some((one) => one === tag))
  const used = tags.filter(({ name }) => of(name).length > 0)
  const body = [
    heading(1, 'top', 'API reference'),
    html`<p class="lead">${info.summary}: create a video, poll it, download an MP4.</p>`,
    ...prose(info.description),
    html`<dl class="facts"><dt>Base URL</dt><dd><code>${base}/v1</code></dd>
<dt>Token</dt><dd><code>Authorization: Bearer &lt;token&gt;</code></dd>
<dt>For generators</dt><dd><a href="/openapi.json">openapi.json</a>, OpenAPI 3.1</dd>
<dt>Examples that run</dt><dd>on the page of each <a href="/docs/models">model</a></dd></dl>`,
    ...used.map(({ name, description }) => [
      heading(2, name, name),
      prose(description),
      of(name).map((one) => renderOperation(one, base, components.schemas)),
    ]),
    renderErrors(),
    renderSchemas(components.schemas),
  ]
  return renderPage({
    title: 'API reference',
    place: 'reference',
    body,
    contents: [...used.map(({ name }) => renderTag(name, of(name))), renderOthers()],
  })
}

function renderTag(name: string, listed: readonly Listed[]): Html {
  const items = listed.map(({ method, operation }) => {
    const short = method === 'delete' ? 'DEL' : method.toUpperCase()
    const badge = html`<span class="method ${method}">${short}</span>`
    return html`<li><a href="#${operation.operationId}">${badge}${operation.summary}</a></li>`
  })
  return html`<section><h2><a href="#${name}">${name}</a></h2><ul>${items}</ul></section>`
}

function renderOthers(): Html {
  return html`<section><h2><a href="#errors">Errors</a></h2></section>
<section><h2><a href="#schemas">Schemas</a></h2></section>`
}

const tokenNeeds: Readonly<Record<string, string>> = {
  client: 'Needs a client token.',
  operator: 'Needs an operator token.',
}

function renderOperation({ method, path, operation }: Listed, base: string, schemas: Schemas): Html {
  const { operationId, summary, description, security, parameters = [], requestBody, responses } = operation
  const access = Object.keys(security[0] ?? {})[0]
  const fields = (place: string): Field[] =>
    parameters.filter((parameter) => parameter.in === place).map(({ in: _place, ...field }) => field)
  const group = (title: string, some: readonly Field[]) =>
    some.length > 0 && [html`<h4>${title}</h4>`, fieldTable(some)]
  return html`<section class="operation" aria-labelledby="${operationId}">
${heading(3, operationId, summary)}
<div class="path"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></div>
<div>${prose(description)}<p class="type">${access === undefined ? 'Needs no token.' : tokenNeeds[access]}</p>
${group('Path', fields('path'))}
${group('Query', fields('query'))}
${requestBody && renderBody(requestBody.content, schemas)}
${group('Request headers', fields('header'))}
<h4>Responses</h4>
${table(['Status', 'Meaning'], Object.entries(responses).map(renderResponse))}</div>
<div class="examples"><div>${renderExamples({ method, path, operation }, base, schemas)}</div></div>
</section>`
}

type Content = NonNullable<Operation['requestBody']>['content']

function renderBody(content: Content, schemas: Schemas): Part {
  const [first] = Object.values(content)
  if (!first) return undefined
  const schema = resolve(first.schema.$ref ?? '', schemas)
  const open = typeof schema.additionalProperties === 'object' && schema.additionalProperties.description
  return [
    html`<h4>Body</h4><p class="type">As ${join(
      Object.keys(content).map((type) => html`<code>${type}</code>`),
      ' or ',
    )}.</p>`,
    fieldTable(fieldsOf(schema)),
    open && html`<p>Also: ${inline(open)}</p>`,
  ]
}

function renderResponse([status, { description, headers = {}, content = {}, ...response }]: [
  string,
  Response,
]): Part[] {
  const types = Object.entries(content).map(([type, { schema }]) =>
    schema.$ref === undefined ? html`<code>${type}</code>` : typeOf(schema),
  )
  const codes = response['x-codes'] ?? []
  return [
    [html`<code>${status === 'default' ? 'others' : status}</code>`, html`<span class="type">${join(types)}</span>`],
    [
      codes.length > 0
        ? html`<p>${join(codes.map((code) => html`<a href="#${code}"><code>${code}</code></a>`))}</p>`
        : prose(description),
      Object.entries(headers).map(([name, header]) => html`<p><code>${name}</code>: ${inline(header.description)}</p>`),
    ],
  ]
}

function renderExamples({ method, path, operation }: Listed, base: string, schemas: Schemas): Part {
  const { requestBody, responses, security } = operation
  const json = requestBody?.content['application/json']
  const { schema: result, example } = responses['200']?.content?.['application/json'] ?? {}
  const token = 'operator' in (security[0] ?? {}) ? '$FILMGATE_OPERATOR_TOKEN' : '$FILMGATE_TOKEN'
  const [verb, output] = [
    method === 'get' ? '' : `-X ${method.toUpperCase()} `,
    responses['200']?.content?.['video/mp4'] ? ' \\\n  -L -o video.mp4' : '',
  ]
  const line = [
    `curl ${verb}${base}${path}`,
    ...(security.length > 0 ? [`-H "Authorization: Bearer ${token}"`] : []),
    ...(json
      ? [
          '-H "Content-Type: application/json"',
          `-d '${JSON.stringify(json.example, null, 2).replaceAll('\n', '\n  ')}'`,
        ]
      : []),
  ]
  return [
    codeBlock('Request', line.join(' \\\n  ') + output),
    result?.$ref !== undefined && codeBlock('Response', JSON.stringify(example ?? sampleOf(result, schemas), null, 2)),
  ]
}

function renderErrors(): Part {
  const codes = Object.entries(problemCodes)
  // The others end a task, and are never the response to a request.
  const own = codes
    .filter(([code, { status }]) => status !== 500 || code === 'internal')
    .sort(([, one], [, other]) => one.status - other.status)
  const failures = codes.filter(([, { failsVideos }]) => failsVideos)
  return [
    heading(2, 'errors', 'Errors'),
    html`<p>Every error has the same <a href="#schema-Error">shape</a>. OpenAI’s SDKs retry by themselves after 408, 409,
    429 and every status from 500.</p>`,
    table(
      ['Code', 'Status', 'Meaning'],
      own.map(([code, { status, meaning }]) => [html`<code id="${code}">${code}</code>`, status, inline(meaning)]),
    ),
    html`<h3 id="failures">Failed videos</h3><p>These codes are in the <code>error.code</code> of a failed video.</p>`,
    table(
      ['Code', 'Meaning'],
      failures.map(([code, { meaning }]) => [html`<code>${code}</code>`, inline(meaning)]),
    ),
  ]
}

function renderSchemas(schemas: Schemas): Part {
  const one = ([name, schema]: [string, Schemas[string]]) => {
    const fields = fieldsOf(schema)
    // In a request the required fields matter, in a response the optional ones.
    const marked = name in responseSchemas ? 'optional' : 'required'
    return html`<section class="schema">
${heading(3, `schema-${name}`, name)}
${schema.description !== undefined && prose(schema.description)}
${fields.length > 0 ? fieldTable(fields, marked) : html`<p>${typeOf(schema)}</p>`}
</section>`
  }
  return [heading(2, 'schemas', 'Schemas'), Object.entries(schemas).map(one)]
}
