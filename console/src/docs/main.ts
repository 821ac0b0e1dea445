import { adoptInlineStyles } from './inline-styles.ts'

/* `/docs`: the API reference, made of `/openapi.json`. */

adoptInlineStyles()
// Else zod, which checks the settings of the reference, tries whether the policy allows scripts made of text.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })
// Its modules add styles as soon as they are loaded.
await import('./reference.ts')
