import { html } from './html.ts'
import { heading, renderPage } from './page.ts'

/** In place of the reference, which is built with the console: where the same is found. */
export function renderReference(): string {
  const body = [
    heading(1, 'top', 'API reference'),
    html`<p class="lead">This service runs without its console, which has the reference to read.</p>`,
    html`<ul>
<li><a href="/openapi.json">openapi.json</a>: every route and shape, as OpenAPI 3.1, for tools that show or use it</li>
<li><a href="/docs/models">Models</a>: what each accepts, and examples that run as they are</li>
<li><a href="/llms.txt">llms.txt</a>: the API in short</li>
</ul>`,
  ]
  return renderPage({ title: 'API reference', place: 'reference', body })
}
