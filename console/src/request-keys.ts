/**
 * The values of `Idempotency-Key`: one for each model and filled form. Each change of the form replaces the object that
 * holds its values, and so does `Run again`. Until then, a second click, or a repeat after a lost response, has the same key.
 */
interface RequestKeys {
  keyOf(form: object, model: string): string
  /** The next request with this form creates another video. */
  renew(form: object, model: string): void
}

export function createRequestKeys(): RequestKeys {
  const keys = new WeakMap<object, Map<string, string>>()
  const ofForm = (form: object) => {
    const found = keys.get(form) ?? new Map<string, string>()
    keys.set(form, found)
    return found
  }
  return {
    keyOf(form, model) {
      const key = ofForm(form).get(model) ?? newKey()
      ofForm(form).set(model, key)
      return key
    },
    renew: (form, model) => void ofForm(form).delete(model),
  }
}

/** `crypto.randomUUID` exists only over HTTPS and on this machine. */
function newKey(): string {
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)))
  return `console-${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
