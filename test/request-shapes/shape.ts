/*
 * A request of another client: field names, forms and values as its documentation or source has them, prompts
 * shortened. `$image` stands for a data URL, `$base64` for bare base64, `$url` for a URL and `$file` for a file of a form.
 */
export interface Shape {
  /** What it is, in a few words. */
  readonly what: string
  /** Where it is documented, or built. */
  readonly source: string
  /** /v1/videos if it is left out. */
  readonly path?: string
  /** JSON if it is left out. */
  readonly as?: 'form' | 'urlencoded'
  readonly body: Readonly<Record<string, unknown>>
  /** What serves its model here: `studio` if it is left out. */
  readonly servedBy?: 'engine' | 'kling-3.0'
  readonly expected: Expected
}

/** The created video, or the field that the 400 names. */
export type Expected = { readonly seconds: string; readonly size: string } | { readonly refused: string }

export interface Client {
  readonly client: string
  readonly shapes: readonly Shape[]
}
