import { createHash } from 'node:crypto'
import { Html, html, type Part } from './html.ts'
import { style } from './style.ts'

interface Page {
  title: string
  /** The page that the navigation marks as current. */
  place: 'reference' | 'models'
  /** The table of contents, below the links to the pages. */
  contents?: Part
  body: Part
}

/** No scripts run, and only the sample is loaded: the name that an engine gives its model can do no harm. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "media-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // The page shows the address of the request, so a shared cache must not keep it.
  'cache-control': 'private, no-cache',
}

export function renderPage({ title, place, contents, body }: Page): string {
  const link = (name: string, href: string, isHere: boolean) =>
    isHere ? html`<a href="${href}" aria-current="page">${name}</a>` : html`<a href="${href}">${name}</a>`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Filmgate</title>
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Documentation">
<a class="brand" href="/docs">Filmgate</a>
<div class="pages">
${link('Reference', '/docs', place === 'reference')}
${link('Models', '/docs/models', place === 'models')}
<a href="/openapi.json">openapi.json</a>
</div>
${contents}
</nav>
<main id="content">
${body}
</main>
</body>
</html>
`.text
}

/** A heading with a link to itself. */
export function heading(level: 1 | 2 | 3, id: string, content: Part): Html {
  const tag = new Html(`h${level}`)
  const anchor = html`<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`
  return html`<${tag} id="${id}">${content} ${anchor}</${tag}>`
}

export function table(heads: readonly string[], rows: readonly (readonly Part[])[]): Html {
  return html`<div class="table"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody>
</table></div>`
}

/** Contains only the text, so that it can be copied as it is. */
export function codeBlock(label: string, code: string, id?: string): Html {
  return html`<figure class="code"><figcaption>${label}</figcaption><pre tabindex="0"${
    id === undefined ? '' : html` id="${id}"`
  }><code>${code}</code></pre></figure>`
}
