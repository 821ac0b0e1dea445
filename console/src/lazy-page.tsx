import { type ComponentType, use } from 'react'
import { loadScript } from './scripts.ts'

/**
 * A page whose script is loaded when it is opened, or before: the router calls `preload`. The module is not typed by its
 * components, because their types depend on the router's.
 */
export function lazyPage<const Name extends string>(load: () => Promise<Record<NoInfer<Name>, unknown>>, name: Name) {
  let Loaded: ComponentType | undefined
  let loading: Promise<void> | undefined
  let hasFailed = false
  async function read(): Promise<void> {
    try {
      Loaded = (await loadScript(name, load))[name] as ComponentType
    } catch (error) {
      hasFailed = true
      throw error
    }
  }
  /** Tries again after a failure, as a reader does. */
  function preload(): Promise<void> {
    if (hasFailed) loading = undefined
    hasFailed = false
    loading ??= read()
    return loading
  }
  function Page() {
    if (!Loaded) use(loading ?? preload())
    return Loaded && <Loaded />
  }
  return Object.assign(Page, { preload })
}
