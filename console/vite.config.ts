import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { paths } from './src/paths.ts'

/** Writes `paths.json` for the service, and each text file compressed beside itself. */
function forService(): Plugin {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
  return {
    name: 'filmgate-for-service',
    // After Vite's own last changes of the files.
    writeBundle({ dir = '' }, bundle) {
      writeFileSync(join(dir, 'paths.json'), JSON.stringify(paths))
      for (const name of Object.keys(bundle)) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue
        const bytes = readFileSync(join(dir, name))
        writeFileSync(join(dir, `${name}.br`), brotliCompressSync(bytes, { params }))
        writeFileSync(join(dir, `${name}.gz`), gzipSync(bytes, { level: 9 }))
      }
    },
  }
}

/**
 * The address of Scalar as one script, which the package has as a text in its module. Its highlighter writes HTML with a style, which the policy of the
 * page refuses. It is for line numbers, which are not shown.
 */
function scalar(): Plugin {
  const id = 'virtual:scalar'
  return {
    name: 'filmgate-scalar',
    resolveId: (source) => (source === id ? id : undefined),
    load(asked) {
      if (asked !== id) return undefined
      const file = fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'))
      const declared = this.parse(readFileSync(file, 'utf8')).body.flatMap((one) =>
        one.type === 'VariableDeclaration' ? one.declarations : [],
      )
      const texts = declared.flatMap(({ init }) => (init?.type === 'Literal' ? String(init.value) : []))
      const code = texts.find((text) => text.includes('.properties.style=['))
      if (code === undefined) return this.error(`${file} does not have Scalar, or its style of lines, where it was`)
      const source = code.replaceAll('.properties.style=[', '.properties.dataLines=[')
      const asset = this.emitFile({ type: 'asset', name: 'scalar.js', source })
      return `export default import.meta.ROLLUP_FILE_URL_${asset}`
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), scalar(), forService()],
  build: {
    // The console, and the reference of the API at `/docs`.
    rolldownOptions: { input: ['index.html', 'docs.html'].map((name) => join(import.meta.dirname, name)) },
    // The reference is large, and loaded only by those who read it.
    chunkSizeWarningLimit: 2_000,
    // `light-dark()` stays as it is.
    target: ['chrome123', 'safari17.5', 'firefox128'],
    // The policy of the page allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `npx vite console`, beside a service on its usual port.
  server: {
    proxy: Object.fromEntries(['/v1', '/operator', '/console', '/docs'].map((path) => [path, 'http://127.0.0.1:8484'])),
  },
})
