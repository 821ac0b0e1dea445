/*
 * The policy of the page allows no inline styles, and the reference writes some: `<style>` elements and `style` attributes. A page
 * may change styles by script, though. So each becomes what the policy allows: an adopted style sheet, or properties of `.style`.
 */

class AdoptedStyle extends HTMLElement {
  readonly #sheet = new CSSStyleSheet()
  readonly #observer = new MutationObserver(() => this.#read())

  constructor() {
    super()
    this.#observer.observe(this, { childList: true, characterData: true, subtree: true })
  }

  connectedCallback(): void {
    this.hidden = true
    document.adoptedStyleSheets.push(this.#sheet)
    this.#read()
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet)
  }

  #read(): void {
    this.#sheet.replaceSync(this.textContent)
  }
}

/** For all elements that are created afterwards. */
export function adoptInlineStyles(): void {
  customElements.define('adopted-style', AdoptedStyle)
  const create = document.createElement.bind(document)
  document.createElement = (name: string, options?: ElementCreationOptions) =>
    create(name.toLowerCase() === 'style' ? 'adopted-style' : name, options)
  const { setAttribute } = Element.prototype
  Element.prototype.setAttribute = function (name, value) {
    if (name === 'style' && (this instanceof HTMLElement || this instanceof SVGElement)) this.style.cssText = value
    else setAttribute.call(this, name, value)
  }
}
