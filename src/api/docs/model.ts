import type { CardFacts, Catalog, CatalogEntry, ModelCard, SecondsRule, SizeRule } from '../../core/catalog.ts'
import type { ParameterRule } from '../../core/parameters.ts'
import { hasOwnPrices, type PriceLine, type PriceTable } from '../../core/prices.ts'
import type { ModelDependencies } from '../models.ts'
import { examplesOf, samplePrompt } from './examples.ts'
import { Html, html, type Part } from './html.ts'
import { codeBlock, heading, renderPage, table } from './page.ts'

/** All models, aliases included. */
export function renderModels({ catalog, prices = null }: ModelDependencies): string {
  const entries = [...catalog.entries.values()]
  const body = [
    heading(1, 'top', 'Models'),
    html`<p class="lead">The models of this service. A token may be limited to some of them.</p>`,
    entries.length > 0
      ? table(
          ['Model', 'Seconds', 'Size', 'Image', 'Sound', 'Price'],
          entries.map((entry) => modelRow(entry, hasOwnPrices(prices, entry.card))),
        )
      : html`<p>There are no models yet. Enable a provider in filmgate.yaml.</p>`,
  ]
  return renderPage({ title: 'Models', place: 'models', body })
}

function modelRow({ name, card }: CatalogEntry, hidesCost: boolean): Part[] {
  const { seconds, size, image, facts, description } = card
  const lengths = 'values' in seconds ? seconds.values.join(', ') : `${seconds.min} to ${seconds.max}`
  const meaning = name === card.id ? description : `Alias of ${card.id}`
  return [
    html`<a href="${addressOf(name)}">${name}</a><span class="type">${meaning}</span>`,
    lengths,
    'values' in size && size.values.length === 1
      ? size.default
      : html`${size.default}<span class="type">and others</span>`,
    { none: 'no', optional: 'optional', required: 'required' }[image],
    facts && { always: 'yes', optional: 'optional', never: 'no' }[facts.audio],
    hidesCost ? 'by token' : facts?.price && fromPrice(facts.price),
  ].map((cell) => cell ?? '–')
}

export function renderModel(entry: CatalogEntry, models: ModelDependencies, base: string): string {
  const { name, card } = entry
  const examples = examplesOf(entry, base)
  const parameters = Object.entries(card.parameters)
  const rows = rowsOf(entry, models)
  const body = [
    heading(1, 'top', name),
    html`<p class="lead">${card.description}</p>`,
    renderSample(entry),
    html`<dl class="facts">${rows.map(([term, value]) => html`<dt>${term}</dt><dd>${value}</dd>`)}</dl>`,
    heading(2, 'parameters', 'Parameters'),
    parameters.length > 0
      ? [
          html`<p>Send these as <a href="/docs#tag/videos/createVideo">fields of the request</a>, or in <code>metadata</code>.</p>`,
          table(['Field', 'Meaning'], parameters.map(parameterRow)),
        ]
      : html`<p>Only the <a href="/docs#tag/videos/createVideo">fields of every request</a>.</p>`,
    heading(2, 'examples', 'Examples'),
    html`<p>These run as they are, and save <code>video.mp4</code> in the current folder. Set the token first:
<code>export FILMGATE_TOKEN=…</code></p>`,
    examples.map(({ id, label, code }) => codeBlock(label, code, id)),
  ]
  return renderPage({ title: name, place: 'models', body, contents: renderNames(models.catalog) })
}

/** What an example below generates. For a model of a provider that would cost money, so `studio` shows its film. */
function renderSample({ name, card }: CatalogEntry): Html {
  const isOwn = card.id === 'studio'
  const about = isOwn
    ? html`A sample of <code>${name}</code>`
    : html`A sample of the service, drawn by <code>studio</code>. <code>${name}</code> generates its own pictures`
  return html`<figure class="sample">
<video src="/docs/sample.mp4" width="480" height="270" controls loop muted playsinline preload="metadata" aria-label="Sample video: ${samplePrompt}"></video>
<figcaption>${about}: “${samplePrompt}”.</figcaption>
</figure>`
}

export function renderNoModel(name: string, catalog: Catalog): string {
  const body = [
    heading(1, 'top', 'There is no such model'),
    html`<p class="lead">There is no model named <code>${name.slice(0, 200)}</code>.
<a href="/docs/models">All models</a></p>`,
  ]
  return renderPage({ title: 'No such model', place: 'models', body, contents: renderNames(catalog) })
}

/** More than anybody would read. */
const mostNames = 200

function renderNames(catalog: Catalog): Html {
  const names = [...catalog.entries.keys()].slice(0, mostNames)
  const items = names.map((name) => html`<li><a href="${addressOf(name)}">${name}</a></li>`)
  return html`<section><h2><a href="/docs/models">All models</a></h2><ul>${items}</ul></section>`
}

/** A slash in a name becomes %2F, so that no name leads out of the folder. */
export function addressOf(name: string): string {
  return `/docs/models/${encodeURIComponent(name.toWellFormed())}`
}

function rowsOf(
  { name, card }: CatalogEntry,
  { catalog, prices = null }: ModelDependencies,
): [term: string, value: Part][] {
  const isDefault = catalog.defaultModel === name
  return [
    ['Model', [html`<code>${name}</code>`, isDefault && ', the default']],
    ...(name === card.id ? [] : [['Alias of', html`<a href="${addressOf(card.id)}">${card.id}</a>`] as [string, Part]]),
    ['Provider', card.ownedBy],
    ['Seconds', secondsOf(card.seconds)],
    ['Size', sizeOf(card.size)],
    ['Reference image', imageOf(card)],
    ...(card.makes?.length ? [['From other videos', card.makes.join(', ')] as [string, Part]] : []),
    ...factRows(card),
    ...priceRows(card.facts, hasOwnPrices(prices, card)),
  ]
}

const code = (value: string | number) => html`<code>${value}</code>`

function secondsOf(rule: SecondsRule): Part {
  const accepted: Part =
    'values' in rule ? join(rule.values.map(code)) : [code(rule.min), ' to ', code(rule.max), ', whole']
  return [accepted, '; ', code(rule.default), ' by default']
}

function sizeOf(rule: SizeRule): Part {
  const usual: Part = ['; ', code(rule.default), ' by default']
  if (!('values' in rule))
    return [`Each side ${rule.minSide} to ${rule.maxSide} pixels, a multiple of ${rule.multipleOf}`, usual]
  const words = (size: string): Part => {
    const shape = rule.shapes?.[size]
    return shape && ` (${shape.resolution} ${shape.ratio})`
  }
  return [join(rule.values.map((size) => [code(size), words(size)])), usual]
}

function imageOf({ image, facts }: ModelCard): Part {
  const as = facts?.imageIs ? `: ${facts.imageIs === 'first frame' ? 'the first frame' : 'a reference'}` : ''
  return { none: 'Not accepted', optional: `Optional${as}`, required: `Required${as}` }[image]
}

function factRows({ facts, failuresBilled }: ModelCard): [term: string, value: Part][] {
  if (!facts) return []
  const { audio, keptMs, usuallyMs } = facts
  const rows: [string, Part][] = [
    ['Sound', { always: 'Always', optional: 'Optional', never: 'Never' }[audio]],
    ['Failed videos', failuresBilled ? 'Charged by the provider' : 'Not charged by the provider'],
    ['Usually takes', usuallyMs !== null && duration(usuallyMs)],
    ['Provider keeps it for', keptMs !== null && `${duration(keptMs)}; Filmgate keeps its own copy`],
  ].map(([term, value]) => [term as string, value ?? false])
  return rows.filter(([, value]) => value !== false)
}

/** Anybody may read this page: the prices that the operator set are for those with a token. */
function priceRows(facts: CardFacts | undefined, hidesCost: boolean): [term: string, value: Part][] {
  if (hidesCost) return [['Price', html`By token: <code>price</code> in the response of <code>GET /v1/models</code>`]]
  if (!facts?.price) return []
  const { lines, currency, on, source } = facts.price
  const texts = lines.map((line) => lineText(line, currency))
  return [['Provider’s price', `${texts.join('; ')}, as of ${on} (${source})`]]
}

/** `from 0.084 USD per second`. */
function fromPrice({ currency, lines }: PriceTable): string {
  const [first, ...others] = lines.toSorted((a, b) => Number(a.price) - Number(b.price))
  return first ? `${others.length > 0 ? 'from ' : ''}${first.price} ${currency} per ${unitText(first)}` : '–'
}

function lineText(line: PriceLine, currency: string): string {
  const { resolution, audio, mode, region } = line
  const sound = audio === undefined ? undefined : audio ? 'with sound' : 'without sound'
  const conditions = [resolution, sound, mode, region].filter((condition) => condition !== undefined)
  const when = conditions.length > 0 ? ` (${conditions.join(', ')})` : ''
  return `${line.price} ${currency} per ${unitText(line)}${when}`
}

function unitText({ unit }: PriceLine): string {
  return unit.replace('_', ' ')
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} seconds`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`
}

function parameterRow([name, rule]: [string, ParameterRule]): Part[] {
  return [
    [code(name), html`<span class="type">${rule.type}</span>`],
    [
      html`<p>${rule.description}</p>`,
      html`<p class="type">${rangeOf(rule)}${rule.needsImage && ' Only with a reference image.'}</p>`,
    ],
  ]
}

function rangeOf(rule: ParameterRule): Part {
  if (rule.type === 'boolean') return 'true or false.'
  if (rule.type !== 'string') return `From ${rule.minimum} to ${rule.maximum}.`
  if (rule.enum) return ['One of ', join(rule.enum.map(code)), '.']
  return `${rule.format ? 'A URL that begins with https://, up' : 'Up'} to ${rule.maxLength} characters.`
}

function join(parts: readonly Part[], between = ', '): Part {
  return parts.map((part, at) => [at > 0 && new Html(between), part])
}
