import { queries, readMarkup, Unavailable } from './api.ts'

/** More failures of a script, while the service responds, are not waited for. */
const mostFailures = 3

/**
 * Loads a script of the console. If the service does not respond, it is tried again, like everything that is read. After
 * an update the files have other names: then the page is loaded again.
 */
export function loadScript<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  let failures = 0
  return queries.fetchQuery({
    queryKey: [`script ${name}`],
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    async queryFn(): Promise<Module> {
      try {
        return await load()
      } catch (cause) {
        // Throws if the service does not respond.
        if (isReplaced(await readMarkup())) {
          location.reload()
          return new Promise(() => {})
        }
        failures += 1
        throw failures < mostFailures ? new Unavailable(null, { cause }) : cause
      }
    },
  })
}

/** Whether this page was loaded from another build than the one that the service has now. */
function isReplaced(markup: string): boolean {
  const own = document.querySelector('script[type="module"][src]')?.getAttribute('src')
  return typeof own === 'string' && !markup.includes(own)
}
