/** Text that is already HTML. Everything else is escaped when it is put into a page. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Part = Html | string | number | false | undefined | readonly Part[]

/** html`<p>${text}</p>`: values are escaped, unless they are Html. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, next, at) => text + render(parts[at - 1]) + next))
}

function render(part: Part): string {
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map(render).join('')
  return part === undefined || part === false ? '' : escapeText(String(part))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

function escapeText(text: string): string {
  return visible(text).replace(/[&<>"'`]/g, (sign) => entities[sign] ?? '')
}

/**
 * Names and descriptions come from other people's engines. They can neither control a terminal nor reverse the text
 * around them.
 */
export function visible(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
}
