import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { it } from 'node:test'

/*
 * Checks that the code follows ARCHITECTURE.md: which file may import which, which may use the clock, randomness, the
 * environment and the network, what a family consists of, and how long a file may be.
 */
const root = join(import.meta.dirname, '..')
const isTest = (file: string) => /(\.test|\.slow|\.services|\.fixture|\/contract)\.ts$/.test(file)
const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'))
const production = sources.filter((file) => !isTest(file))
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

interface Import {
  from: string
  to: string
  typeOnly: boolean
  /** A dynamic import. */
  lazy: boolean
  names: readonly string[]
}

function importsOf(file: string): Import[] {
  const found = textOf(file).matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?((?:[^'"\n;]|\n(?!import))*?)from\s+'([^']+)'/g,
  )
  const dynamic = textOf(file).matchAll(/import\('([^']+)'\)/g)
  return [
    ...[...found].map(([, type, names = '', path = '']) => ({
      typeOnly: type !== undefined,
      lazy: false,
      path,
      names: names.match(/[\w*]+/g) ?? [],
    })),
    ...[...dynamic].map(([, path = '']) => ({ typeOnly: false, lazy: true, path, names: ['*'] })),
  ].map(({ path, ...rest }) => ({
    from: file,
    to: path.startsWith('.') ? posix.join(dirname(file), path) : path,
    ...rest,
  }))
}

/** The first rule whose room holds the file decides what it may import; `type:` allows only its types. */
const rules: [room: RegExp, may: string[]][] = [
  [
    /^src\/wire\//,
    [
      'src/core/account.ts',
      'src/core/alarms.ts',
      'src/core/attempt.ts',
      'src/core/audit.ts',
      'src/core/catalog.ts',
      'src/core/figures.ts',
      'src/core/health.ts',
      'src/core/image.ts',
      'src/core/money.ts',
      'src/core/parameters.ts',
      'src/core/prices.ts',
      'src/core/setting-origin.ts',
      'src/core/source.ts',
      'src/core/storage-fault.ts',
      'src/core/task.ts',
      'src/core/token.ts',
      'src/core/usage-groups.ts',
      'src/core/verification.ts',
      'src/core/webhook.ts',
      'src/wire/',
      'type:typebox/schema',
    ],
  ],
  [/^src\/core\//, ['src/core/', 'node:crypto']],
  [
    /^src\/telemetry\//,
    [
      'src/core/',
      'src/telemetry/',
      'type:src/outbound.ts',
      'type:src/stores/store.ts',
      'node:module',
      'node:perf_hooks',
      'type:prom-client',
    ],
  ],
  [
    /^src\/alarms/,
    ['src/core/', 'src/alarms', 'type:src/outbound.ts', 'type:src/telemetry/', 'type:src/stores/store.ts'],
  ],
  [
    /^src\/main\//,
    [
      'src/core/',
      'node:',
      'type:src/telemetry/',
      'type:src/stores/store.ts',
      'type:src/buckets/bucket.ts',
      'type:src/media/media.ts',
      'type:src/outbound.ts',
    ],
  ],
  [
    /^src\/secrets/,
    ['src/core/', 'src/data-folder.ts', 'src/secrets', 'type:src/stores/store.ts', 'src/telemetry/log.ts', 'node:'],
  ],
  [/^src\/data-folder\.ts$/, ['src/core/', 'node:']],
  [/^src\/access/, ['src/core/', 'src/access', 'src/config/tokens.ts', 'type:src/stores/store.ts']],
  [/^src\/accounts\/doctor\.ts$/, ['src/core/', 'src/config', 'src/outbound.ts', 'src/providers/index.ts']],
  [
    /^src\/accounts/,
    [
      'src/core/',
      'src/accounts',
      'src/outbound.ts',
      'node:',
      'type:src/config',
      'type:src/media/media.ts',
      'type:src/providers/',
      'type:src/stores/store.ts',
      'type:src/telemetry/',
      'type:src/workers/worker.ts',
    ],
  ],
  [/^src\/outbound/, ['src/core/', 'src/outbound', 'node:', 'ipaddr.js']],
  [/^src\/studio\//, ['src/core/', 'src/studio/', 'src/media/', 'node:', 'node-av', '@napi-rs/canvas']],
  [/^src\/media\//, ['src/core/', 'src/media/', 'src/studio/render.ts', 'node:', 'node-av', '@napi-rs/canvas']],
  [/^src\/stores\/postgres\//, ['src/core/', 'src/stores/', 'node:', 'pg']],
  [/^src\/stores\//, ['src/core/', 'src/stores/', 'node:']],
  [/^src\/buckets\/s3\//, ['src/core/', 'src/buckets/', 'node:', '@aws-sdk/']],
  [/^src\/buckets\//, ['src/core/', 'src/buckets/', 'node:']],
  [/^src\/providers\/kit\//, ['src/core/', 'src/providers/kit/', 'type:src/providers/provider.ts']],
  [/^src\/providers\//, ['src/core/', 'src/providers/', 'type:src/media/media.ts', 'type:src/outbound.ts', 'node:']],
  [
    /^src\/workers\//,
    [
      'src/core/',
      'src/workers/',
      'node:',
      'type:src/outbound.ts',
      'type:src/media/media.ts',
      'type:src/buckets/bucket.ts',
      'type:src/providers/provider.ts',
      'type:src/telemetry/',
    ],
  ],
  [/^src\/engine\/(spill|unsent)\.ts$/, ['src/core/', 'src/data-folder.ts', 'node:']],
  [
    /^src\/engine/,
    [
      'src/core/',
      'src/engine/',
      'type:src/access.ts',
      'type:src/telemetry/',
      'type:src/stores/store.ts',
      'type:src/workers/worker.ts',
    ],
  ],
  [
    /^src\/deliveries/,
    [
      'src/core/',
      'src/deliveries/',
      'type:src/access.ts',
      'type:src/telemetry/',
      'type:src/outbound.ts',
      'type:src/stores/store.ts',
    ],
  ],
  [
    /^src\/api\//,
    [
      'src/core/',
      'src/wire/',
      'src/api/',
      'node:',
      'fastify',
      '@fastify/',
      'type:src/access.ts',
      'type:src/accounts/',
      'type:src/console/console.ts',
      'type:src/telemetry/',
      'type:src/outbound.ts',
      'type:src/stores/store.ts',
      'type:src/buckets/bucket.ts',
      'type:src/media/media.ts',
    ],
  ],
  [
    /^src\/console\//,
    [
      'src/core/',
      'src/wire/',
      'src/console/',
      'src/api/',
      'node:',
      'type:fastify',
      'type:src/access.ts',
      'type:src/stores/store.ts',
      'type:src/telemetry/',
    ],
  ],
  [
    /^src\/config/,
    ['src/core/', 'src/config', 'src/providers/index.ts', 'src/outbound.ts', 'node:', 'yaml', 'type:typebox/schema'],
  ],
  [/^src\/main\.ts$/, ['src/', 'node:']],
  [
    /^src\/migrate/,
    [
      'src/core/',
      'src/migrate',
      'src/data-folder.ts',
      'src/stores/index.ts',
      'src/buckets/index.ts',
      'node:',
      'src/stores/transfer/',
      'type:src/buckets/bucket.ts',
      'type:src/config/places.ts',
    ],
  ],
  [
    /^src\/cli\/(banner|config|doctor|index|migrate|prices|serve|simulate)(\.ts$|\/)/,
    [
      'src/cli/',
      'src/core/',
      'src/config',
      'src/main.ts',
      'src/migrate.ts',
      'src/accounts/doctor.ts',
      'simulators/',
      'node:',
    ],
  ],
  // The others are clients of the APIs.
  [/^src\/cli\//, ['src/cli/', 'src/core/', 'src/wire/', 'node:']],
]

it('every import follows the arrows', () => {
  const wrong = production.flatMap((file) => {
    const may = rules.find(([room]) => room.test(file))?.[1]
    assert.ok(may, `${file} is in no room`)
    return importsOf(file).filter(({ to, typeOnly }) => {
      const allowed = (rule: string) =>
        rule.startsWith('type:') ? typeOnly && to.startsWith(rule.slice(5)) : to.startsWith(rule)
      return !may.some(allowed)
    })
  })
  assert.deepEqual(wrong, [])
})

it('nothing but the command line imports the command line, and nothing but the wiring imports the wiring', () => {
  const wrong = production.filter((file) => !file.startsWith('src/cli/')).flatMap(importsOf)
  assert.deepEqual(
    wrong.filter(({ to }) => to.startsWith('src/cli/') || to === 'src/main.ts'),
    [],
  )
})

it('the SDK of S3 and the documentation, large as they are, are loaded only where they are needed', () => {
  const reached = new Set(['src/main.ts'])
  for (const file of reached)
    for (const { to, typeOnly, lazy } of production.includes(file) ? importsOf(file) : [])
      if (!typeOnly && !lazy) reached.add(to)
  for (const file of ['src/buckets/s3.ts', 'src/api/docs.ts']) assert.ok(reached.has(file))
  assert.deepEqual(
    [...reached].filter((file) => /^@aws-sdk\/|^src\/api\/(docs|openapi)\//.test(file)),
    [],
  )
})

/** The interface of each family; the stores have a second file that all members use. */
const families = {
  stores: ['store', 'window', 'search'],
  buckets: ['bucket'],
  providers: ['provider'],
  workers: ['worker'],
}

for (const [folder, shared] of Object.entries(families)) {
  it(`the ${folder} are a family: interface, contract, index, and members that pass the one and stand in the other`, () => {
    const named = (name: string) => `src/${folder}/${name}.ts`
    for (const part of [...shared, 'contract', 'index'])
      assert.ok(existsSync(join(root, named(part))), `${named(part)} is missing`)
    const members = production
      .filter((file) => dirname(file) === `src/${folder}` && ![...shared, 'index'].map(named).includes(file))
      .map((file) => posix.basename(file, '.ts'))
    assert.ok(members.length > 0)
    for (const member of members) {
      assert.ok(textOf(named('index')).includes(`'./${member}.ts'`), `${member} is not in ${named('index')}`)
      const tests = sources
        .filter((file) => file.startsWith(`src/${folder}/`) && /\.(test|services)\.ts$/.test(file))
        .map(textOf)
      assert.ok(
        tests.some((text) => text.includes("from './contract.ts'") && text.includes(`'./${member}.ts'`)),
        `${member} does not run the contract`,
      )
      const siblings = importsOf(named(member)).filter(({ to }) => members.some((other) => to === named(other)))
      assert.deepEqual(siblings, [], `${member} imports another member`)
    }
  })
}

/** Has programs as text, for a page. */
const quoting = 'src/api/docs/examples.ts'

it('time, chance, the environment, the network and the exit belong to one place each', () => {
  const owners: [what: RegExp, owners: RegExp][] = [
    [/\bDate\.now\(|new Date\(\)|performance\.now/, /^src\/(main|cli\/terminal)\.ts$/],
    [/\bMath\.random\(/, /^$/],
    // The media child watches itself.
    [/(?<!request\.raw\.)\bset(Timeout|Interval)\(/, /^src\/(main|outbound\/watch|cli\/terminal|media\/video)\.ts$/],
    [/\bprocess\.env\b|\{ env\b.*\} = process\b/, /^src\/cli\/terminal\.ts$/],
    [/(?<![.\w])fetch\(|from 'node:https?'|getBuiltinModule|from 'undici'/, /^src\/(outbound|cli\/client)/],
    // The media child ends itself when its parent is gone.
    [/\bprocess\.exit\(/, /^src\/media\/child\.ts$/],
    // Not a path or a sentence that has the word.
    [/(?<![./\w])console\.\w/, /^$/],
  ]
  for (const [what, owner] of owners) {
    const found = production.filter(
      (file) => !owner.test(file) && file !== quoting && what.test(withoutComments(textOf(file))),
    )
    assert.deepEqual(found, [], `${what}`)
  }
})

it('every exported name is imported by another file', () => {
  const consoleFiles = globSync('console/{*,src/**/*,test/*}.{ts,tsx}', { cwd: root }).map((file) =>
    file.split(sep).join('/'),
  )
  const importers = [...globSync('{src,test,bench,simulators,deploy}/**/*.ts', { cwd: root }), ...consoleFiles]
  const imported = new Set(
    importers.flatMap(importsOf).flatMap(({ to, names }) => names.map((name) => `${to} ${name}`)),
  )
  const bench = globSync('bench/**/*.ts', { cwd: root })
  const exported = [...production, ...bench, ...consoleFiles].flatMap((file) =>
    [...textOf(file).matchAll(/^export (?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm)].map(
      ([, name]) => ({ file, name }),
    ),
  )
  assert.ok(exported.length > 500)
  const unused = exported.filter(({ file, name }) => !imported.has(`${file} ${name}`) && !imported.has(`${file} *`))
  // Another process imports it in its test, by a path that is put together.
  const known = ['src/data-folder.ts keepOthersOut']
  assert.deepEqual(unused.map(({ file, name }) => `${file} ${name}`).sort(), known)
})

it('no source file is longer than 500 lines', () => {
  const long = production.filter((file) => textOf(file).split('\n').length > 500)
  assert.deepEqual(long, [])
})

it('no file names a machine, and the lock file no download host', () => {
  const files = [...sources, 'package.json', 'package-lock.json', 'README.md', 'ARCHITECTURE.md', 'CHANGELOG.md']
  const telling = files.filter((file) => /\/(root|home\/\w+|work)\/|"resolved": "(?!console")/.test(textOf(file)))
  assert.deepEqual(telling, [])
})

it('the lock file has the Linux binaries of every native package for both architectures', () => {
  const { packages } = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, { optionalDependencies?: object }>
  }
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    const names = Object.keys(optionalDependencies).filter((name) => /linux-(x64|arm64)/.test(name))
    for (const name of names)
      assert.ok(packages[`node_modules/${name}`], `${relative('', path)} lacks ${name} in the lock file`)
  }
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}
