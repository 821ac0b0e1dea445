import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { settings } from '../src/config/settings.ts'
import { loadConfig } from '../src/config.ts'
import { alarmKindNames } from '../src/core/alarms.ts'
import { launcher } from './process.ts'

/* The files below deploy/ fit each other and the service. `npm run lint:deploy` checks them with real tools. */
const root = join(import.meta.dirname, '..')
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
const files = globSync('deploy/**/{*,.*}', { cwd: root }).filter((file) => statSync(join(root, file)).isFile())
const { version } = JSON.parse(textOf('package.json')) as { version: string }

// biome-ignore lint/suspicious/noExplicitAny: documents of many shapes, and a wrong one fails the test
type Document = Record<string, any>

const documents = new Map<string, Document[]>()
for (const file of files.filter((name) => /\.ya?ml(\.example)?$/.test(name)))
  documents.set(
    file,
    parseAllDocuments(textOf(file), { merge: true }).map((document) => {
      assert.deepEqual([...document.errors, ...document.warnings], [], file)
      return document.toJS() as Document
    }),
  )

const compose = documents.get('deploy/compose.yaml')?.[0] ?? assert.fail('there is no compose.yaml')
const kubernetes = [...documents].filter(([file]) => file.startsWith('deploy/kubernetes/')).flatMap(([, all]) => all)
const workloads = kubernetes.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
const dockerfile = textOf('deploy/Dockerfile')
const unit = textOf('deploy/systemd/filmgate.service')
const nginx = textOf('deploy/nginx/filmgate.conf')
const ours = Object.entries(compose.services as Document).filter(([, { build }]) => build)

const one = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? assert.fail(`no ${pattern}`)
const imageVariables = Object.fromEntries(
  [...dockerfile.matchAll(/\b(FILMGATE_[A-Z_]+)=(\S+)(?= \\|\n)/g)].map(([, name, value]) => [name, value]),
)

it('every variable of ours that is named is a setting', () => {
  const known: string[] = Object.values(settings).map(({ variable }) => variable)
  for (const file of [...files, 'docs/deployment.md', '.dockerignore'])
    for (const [name] of textOf(file).matchAll(/\bFILMGATE_[A-Z_]+\b/g))
      assert.ok(known.includes(name), `${file}: ${name}`)
})

it('the example of .env has the names that compose.yaml asks for, and no secret', () => {
  const asked = [...textOf('deploy/compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name)
  const lines = textOf('deploy/.env.example').split('\n')
  const given = lines.filter((line) => line !== '' && !line.startsWith('#'))
  assert.deepEqual(given.map((line) => one(line, /^(\w+)=$/)).sort(), [...new Set(asked)].sort())
})

it('the processes of compose.yaml and of Kubernetes have settings that fit together', () => {
  const secret = kubernetes.find(({ kind }) => kind === 'Secret')?.stringData
  const config = kubernetes.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'filmgate')?.data
  const environments = [
    ...ours.map(([, { environment }]) => environment),
    ...workloads.map(({ spec }) => {
      const [container] = spec.template.spec.containers
      const own = container.env.map(({ name, value }: Document) => [name, value])
      return { ...config, ...secret, ...Object.fromEntries(own) }
    }),
  ]
  const roles = environments.map((environment) => {
    const filled = Object.entries(environment as Document).map(([name, value]) => [
      name,
      // Each its own: two tokens must differ.
      String(value).replace(/\$\{(\w+)[^}]*\}/g, '$1'),
    ])
    const {
      FILMGATE_CONFIG: path,
      FILMGATE_SECRET_KEY: key,
      ...env
    } = {
      ...imageVariables,
      ...Object.fromEntries(filled),
    }
    assert.equal(path, '/etc/filmgate/filmgate.yaml')
    assert.ok(key, 'secrets can be encrypted')
    const loaded = loadConfig({ flags: { config: join(root, 'deploy/models.yaml') }, env })
    assert.deepEqual([loaded.store.kind, loaded.bucket.kind], ['postgres', 's3'])
    return env.FILMGATE_ROLE
  })
  assert.deepEqual(roles, [undefined, 'api', 'worker', 'worker', 'api', 'worker'])
})

it('Kubernetes has the same models as compose.yaml', () => {
  const map = kubernetes.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'filmgate-yaml')
  const [document] = parseAllDocuments(map?.data['filmgate.yaml'])
  assert.deepEqual(document?.toJS(), documents.get('deploy/models.yaml')?.[0])
})

it('the image is the one of this version everywhere', () => {
  assert.ok(dockerfile.includes(`org.opencontainers.image.version="${version}"`))
  assert.ok(dockerfile.includes(`-t filmgate:${version} `))
  for (const [name, { image }] of ours) assert.equal(image, `filmgate:${version}`, name)
  for (const { spec } of workloads)
    assert.match(spec.template.spec.containers[0].image, new RegExp(`/filmgate:${version.replaceAll('.', '\\.')}$`))
})

it('user, port and folders agree', () => {
  const user = one(dockerfile, /^USER (\d+:\d+)$/m)
  const port = one(dockerfile, /^EXPOSE (\d+)$/m)
  const folder = one(dockerfile, /^VOLUME (\S+)$/m)
  assert.deepEqual([imageVariables.FILMGATE_PORT, imageVariables.FILMGATE_DATA], [port, folder])
  assert.equal(port, settings.port.fallback)
  for (const [name, service] of ours) {
    assert.equal(service.user, user, name)
    if (name !== 'bucket') assert.equal(service.volumes[0], `${name}:${folder}`)
  }
  assert.deepEqual(compose.services.api.ports, [`127.0.0.1:${port}:${port}`])
  for (const { spec } of workloads) {
    const { securityContext, containers } = spec.template.spec
    assert.equal(`${securityContext.runAsUser}:${securityContext.runAsGroup}`, user)
    assert.equal(containers[0].ports[0].containerPort, Number(port))
    assert.equal(containers[0].volumeMounts.find(({ name }: Document) => name === 'data').mountPath, folder)
  }
  assert.match(nginx, new RegExp(`server 127\\.0\\.0\\.1:${port} max_fails=0;`))
  assert.match(nginx, new RegExp(`alias ${folder}/bucket/;`))
  // %N is the name of the unit: that of ours, or of a copy for another process.
  assert.equal(folder, '/var/lib/filmgate')
  assert.match(unit, /^StateDirectory=%N$[\s\S]*FILMGATE_DATA=%S\/%N$/m)
  const path = one(textOf('deploy/systemd/environment.example'), /FILMGATE_CONTENT=accel:(\S+)/)
  assert.ok(nginx.includes(`location ${path} {`))
})

it('no process is killed while it drains, and a pod gets no variables of our Service', () => {
  const drain = 30
  for (const [name, { stop_grace_period: grace }] of ours) assert.ok(Number.parseInt(grace, 10) > drain, name)
  assert.ok(Number(one(unit, /^TimeoutStopSec=(\d+)$/m)) > drain)
  for (const { spec } of workloads) {
    const { terminationGracePeriodSeconds: grace, enableServiceLinks, containers } = spec.template.spec
    assert.ok(grace > drain + (containers[0].lifecycle?.preStop.sleep.seconds ?? 0))
    // Kubernetes would set FILMGATE_PORT and FILMGATE_SERVICE_HOST, which are no settings of that form.
    assert.equal(enableServiceLinks, false)
  }
})

it('no process is killed while it migrates the schema, and no rollout times out', () => {
  const migration = one(textOf('src/stores/postgres/migrate.ts'), /^const longMs = ([\d_]+)$/m).replaceAll('_', '')
  for (const { spec } of workloads) {
    const { periodSeconds, failureThreshold } = spec.template.spec.containers[0].startupProbe
    const allowed = periodSeconds * failureThreshold
    assert.ok(allowed * 1000 > Number(migration))
    if (spec.strategy) assert.ok(spec.progressDeadlineSeconds > allowed)
  }
})

it('the volume of a worker, which may have unrecorded responses, is never removed automatically', () => {
  const worker = workloads.find(({ kind }) => kind === 'StatefulSet')
  assert.deepEqual(worker?.spec.persistentVolumeClaimRetentionPolicy, { whenDeleted: 'Retain', whenScaled: 'Retain' })
})

it('nothing has more rights than it needs', () => {
  for (const [name, service] of Object.entries(compose.services as Document)) {
    assert.deepEqual([service.read_only, service.cap_drop], [true, ['ALL']], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
  }
  for (const { spec } of workloads) {
    const { securityContext, containers } = spec.template.spec
    assert.ok(securityContext.runAsNonRoot && securityContext.seccompProfile.type === 'RuntimeDefault')
    assert.deepEqual(containers[0].securityContext, {
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { drop: ['ALL'] },
    })
  }
})

it('every selector finds its pods, and every reference exists', () => {
  const labels = workloads.map(({ spec }) => JSON.stringify(spec.template.metadata.labels))
  for (const { kind, spec } of kubernetes) {
    const selector = kind === 'Service' ? spec.selector : spec?.selector?.matchLabels
    if (selector) assert.ok(labels.includes(JSON.stringify(selector)), kind)
    const { scaleTargetRef: target } = spec ?? {}
    if (target) assert.ok(workloads.some((other) => other.kind === target.kind && other.metadata.name === target.name))
  }
  const names = kubernetes.filter(({ kind }) => kind !== 'Namespace').map(({ metadata }) => metadata.namespace)
  assert.deepEqual([...new Set(names)], ['filmgate'])
})

it('every command exists, and accepts its arguments', () => {
  const entry = JSON.parse(one(dockerfile, /^ENTRYPOINT (.+)$/m)) as string[]
  const command = JSON.parse(one(dockerfile, /^CMD (.+)$/m)) as string[]
  assert.deepEqual(entry, ['node', 'bin/filmgate.js'])
  const [program, ...args] = one(unit, /^ExecStart=\S+ (.+)$/m).split(' ')
  assert.equal(program, '/opt/filmgate/bin/filmgate.js')
  for (const { spec } of workloads) assert.deepEqual(spec.template.spec.containers[0].args, command)
  for (const given of [command, args]) {
    const { status, stderr } = spawnSync(process.execPath, [launcher, ...given, '--help'], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  }
  const helpers = ['deploy/healthcheck.js', 'deploy/make-bucket.js']
  const ignored = textOf('.dockerignore')
  for (const helper of helpers) assert.ok(files.includes(helper) && ignored.includes(`!${helper}\n`), helper)
  const env = { ...process.env, FILMGATE_BUCKET: 's4://films' }
  const { stderr } = spawnSync(process.execPath, [join(root, 'deploy/make-bucket.js')], { encoding: 'utf8', env })
  assert.match(stderr, /^make-bucket: FILMGATE_BUCKET can't be used: use s3:/)
})

it('Prometheus scrapes every process, and Grafana finds its data source and its dashboards', () => {
  const [job] = documents.get('deploy/grafana/prometheus.yaml')?.[0]?.scrape_configs ?? []
  const processes = ours.map(([name]) => name).filter((name) => name !== 'bucket')
  assert.deepEqual(
    job.static_configs[0].targets,
    processes.map((name) => `${name}:${settings.port.fallback}`),
  )
  assert.deepEqual(compose.services.prometheus.secrets, ['metrics-token'])
  assert.equal(job.authorization.credentials_file, '/run/secrets/metrics-token')
  for (const { file } of Object.values(compose.configs as Document))
    assert.ok(files.includes(join('deploy', file)), file)
  const [source] = documents.get('deploy/grafana/datasource.yaml')?.[0]?.datasources ?? []
  const [provider] = documents.get('deploy/grafana/dashboards.yaml')?.[0]?.providers ?? []
  const mounted = (compose.services.grafana.configs as Document[]).map(({ target }) => target)
  const dashboards = files.filter((file) => file.startsWith('deploy/grafana/dashboards/'))
  assert.equal(dashboards.length, 2)
  for (const file of dashboards) {
    assert.ok(mounted.includes(`${provider.options.path}/${file.split('/').at(-1)}`), file)
    const { panels, templating } = JSON.parse(textOf(file)) as Document
    assert.equal(templating.list[0].current.value, source.uid)
    const ids = panels.map(({ id }: Document) => id)
    assert.equal(new Set(ids).size, ids.length, 'each panel has an id of its own')
    for (const { title, type, datasource } of panels as Document[])
      if (type !== 'row') assert.match(datasource.uid, /^\$\{datasource\}$/, title)
  }
})

it('every alert has a severity, and says what to do; every alarm has one', () => {
  const [group] = documents.get('deploy/grafana/rules.yaml')?.[0]?.groups ?? []
  for (const { alert, labels, annotations } of group.rules as Document[]) {
    assert.ok(['critical', 'warning'].includes(labels.severity), alert)
    assert.ok(annotations.summary && annotations.description && annotations.runbook, alert)
    if (labels.alarm !== undefined) assert.equal(annotations.runbook, `docs/runbook.md#${labels.alarm}`)
  }
  const alarms = new Set((group.rules as Document[]).flatMap(({ labels }) => labels.alarm ?? []))
  assert.deepEqual([...alarms].toSorted(), alarmKindNames.toSorted())
})
