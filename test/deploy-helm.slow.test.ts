import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import { readSettings } from '../packages/server/src/base/config.ts'
import {
  assertClosed,
  assertNamesAgree,
  assertPlain,
  assertRestricted,
  Chart,
  type Manifest,
  only,
  typeErrors,
} from './support/charts.ts'
import { newKeys } from './support/copy-issuer-keys.ts'
import { DocPage } from './support/doc-page.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { buildGo } from './support/go.ts'
import { ROOT, startServiceProcess, tempDir } from './support/service.ts'
import { needs } from './support/tools.ts'

// No cluster and no Helm are used: the charts are rendered by Go's templates, and the objects are checked against Kubernetes' types.

const NEEDS = needs('go', 'github.com/Masterminds/sprig', 'sigs.k8s.io/yaml')

/** What needs settings of its own, or is secret: not in the value `settings`. */
const NOT_IN_SETTINGS = [
  ...['BASE_URL', 'DATABASE_URL', 'DATA_DIR', 'DRAIN_SECONDS', 'KEYS_DIR', 'METRICS_PORT', 'PORT'],
  ...['LOOPBACK_HOSTS', 'REDIS_URL', 'REPLICA_URL', 'SMTP_URL', 'TRUSTED_PROXIES'],
]

function settingNames(): string[] {
  const names = new Set<string>()
  readSettings(new Proxy({}, { get: (_, name) => void names.add(String(name)) }))
  return [...names].toSorted()
}

const cleanup = fileCleanup()
let program: Promise<string> | undefined

/** The renderer is built once, and only if the tests run. */
async function chart(): Promise<Chart> {
  program ??= buildGo(cleanup, 'render-chart')
  return new Chart('countersign', await program)
}

const EXAMPLES = ['sqlite', 'postgres'] as const

async function examples() {
  const read = await chart()
  return { sqlite: read.example('sqlite'), postgres: read.example('postgres') }
}

const podOf = (manifests: readonly Manifest[]) => only(manifests, 'StatefulSet').spec.template
const containerOf = (manifests: readonly Manifest[]) => podOf(manifests).spec.containers[0]

/** The variables of a container that are not from Secrets, as Kubernetes expands them. */
function variablesOf(manifests: readonly Manifest[]): Record<string, string> {
  const values: Record<string, string> = {}
  for (const { name, value } of containerOf(manifests).env) {
    assert.ok(!(name in values), `${name} twice`)
    if (value === undefined) continue
    assert.equal(typeof value, 'string')
    values[name] = value.replaceAll(/\$\$|\$\((\w+)\)/g, (all: string, other?: string) =>
      other === undefined ? '$' : (values[other] ?? all),
    )
  }
  return values
}

test(
  'the examples are objects of Kubernetes 1.27 or later, without unknown fields',
  NEEDS,
  async (t) => {
    const all: Manifest[] = []
    for (const name of EXAMPLES) {
      const rendered = await (await chart()).render((await chart()).example(name))
      all.push(...rendered.manifests)
    }
    const alarms = parse(readFileSync(join(ROOT, 'deploy/prometheus/alarms.yml'), 'utf8'))
    const rule = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', spec: alarms }
    all.push({ ...rule, metadata: { name: 'countersign', labels: {} } })
    assert.equal(await typeErrors(t, all), '')
    assert.deepEqual([...new Set(all.map(({ kind }) => kind))].toSorted(), [
      ...['Ingress', 'NetworkPolicy', 'PodDisruptionBudget', 'PodMonitor', 'PrometheusRule'],
      ...['Service', 'StatefulSet'],
    ])
    const wrong = structuredClone(all.filter(({ kind }) => kind === 'StatefulSet'))
    ;(wrong[0] as Manifest).spec.template.spec.containers[0].livenesProbe = {}
    ;(wrong[1] as Manifest).spec.replicas = '3'
    const errors = await typeErrors(t, wrong)
    assert.match(errors, /livenesProbe\W+does not exist/)
    assert.match(errors, /Type 'string' is not assignable to type 'number'/)
  },
)

test('values that could not work are refused, with the reason', NEEDS, async () => {
  const { sqlite, postgres } = await examples()
  const peer = [{ podSelector: {} }]
  for (const [values, reason] of [
    [{ ...sqlite, image: { tag: 'x' } }, /image.repository is required/],
    [{ ...sqlite, baseUrl: '' }, /baseUrl is required/],
    [{ ...sqlite, replicas: 2 }, /replicas must be 1 with database.kind sqlite/],
    [
      { ...sqlite, database: { urlSecret: { name: 'x' } } },
      /urlSecret is for database.kind postgres/,
    ],
    [{ ...postgres, database: { kind: 'postgres' } }, /urlSecret.name is required/],
    [{ ...postgres, keysSecret: '' }, /keysSecret is required with more than one replica/],
    [{ ...postgres, settings: { WITNESS_LOGS: '/config/logs' } }, /WITNESS_LOGS needs replicas 1/],
    [{ ...postgres, configSecret: '' }, /settings.IDENTITY_PROVIDERS names a file in \/config/],
    [
      { ...postgres, networkPolicy: { from: peer, metricsFrom: peer } },
      /egress needs a rule for Post/,
    ],
    [{ ...sqlite, networkPolicy: { from: [] } }, /networkPolicy.from must name/],
    [{ ...sqlite, podMonitor: { enabled: true } }, /networkPolicy.metricsFrom must name/],
  ] as const)
    await assert.rejects((await chart()).render(values), reason)

  for (const [values, path] of [
    [{ replica: 3 }, ''],
    [{ settings: { WORKER: 2 } }, '/settings'],
    [{ settings: { SMTP_URL: 'smtps://u:p@h:465' } }, '/settings'],
    [{ settings: { WORKERS: true } }, '/settings/WORKERS'],
    [{ baseUrl: 'http://id.example' }, '/baseUrl'],
    [{ baseUrl: 'https://id.example/' }, '/baseUrl'],
    [{ database: { kind: 'mysql' } }, '/database/kind'],
    [{ persistence: { enabled: false } }, '/persistence'],
    [{ drainSeconds: 301 }, '/drainSeconds'],
    [{ networkPolicy: { from: [{}] } }, '/networkPolicy/from/0'],
    [{ networkPolicy: { egress: [{ ports: [{ port: 5432 }] }] } }, '/networkPolicy/egress/0'],
    [
      { networkPolicy: { egress: [{ to: [], ports: [{ port: 1 }] }] } },
      '/networkPolicy/egress/0/to',
    ],
    [{ networkPolicy: { egress: [{ to: peer, ports: [] }] } }, '/networkPolicy/egress/0/ports'],
  ] as const)
    assert.ok(
      (await chart()).mistakesIn({ ...sqlite, ...values }).includes(`"instancePath":"${path}"`),
      JSON.stringify(values),
    )
  assert.equal((await chart()).mistakesIn({ ...sqlite, replicas: 0, global: {} }), '', 'stopped')
})

test('quotes, line breaks, braces and references in values stay values', NEEDS, async () => {
  const { sqlite } = await examples()
  const odd = `"'\\ {{ .Release.Name }} $(PORT) $$(PORT) # : - \n\t{} \u00e9 \u{1f600} $`
  const { manifests } = await (await chart()).render({
    ...sqlite,
    settings: { SERVICE_NAME: odd, READ_MODEL_AGENTS: 5_000_000, LOG_REQUIRE_WITNESS: '0' },
    trustedProxies: odd,
    podAnnotations: { odd },
    ingress: { enabled: true, annotations: { odd } },
  })
  const { SERVICE_NAME, TRUSTED_PROXIES, READ_MODEL_AGENTS } = variablesOf(manifests)
  assert.deepEqual([SERVICE_NAME, TRUSTED_PROXIES], [odd, odd])
  assert.equal(READ_MODEL_AGENTS, '5000000')
  assert.equal(podOf(manifests).metadata.annotations.odd, odd)
  assert.equal(only(manifests, 'Ingress').metadata.annotations?.odd, odd)
})

test(
  'the templates have nothing that asks the cluster, runs once, or changes by itself',
  NEEDS,
  async () => {
    assertPlain(await chart())
  },
)

test('selectors, ports, Secrets and volumes name each other', NEEDS, async () => {
  for (const name of EXAMPLES) {
    const { manifests } = await (await chart()).render((await chart()).example(name), 'id')
    const pod = podOf(manifests)
    const container = containerOf(manifests)
    assertNamesAgree(manifests, only(manifests, 'StatefulSet'))
    const { PORT, METRICS_PORT } = variablesOf(manifests)
    assert.deepEqual(container.ports, [
      { name: 'http', containerPort: Number(PORT) },
      { name: 'metrics', containerPort: Number(METRICS_PORT) },
    ])
    const services = manifests.filter(({ kind }) => kind === 'Service')
    const { serviceName } = only(manifests, 'StatefulSet').spec
    const headless = services.find(({ metadata }) => metadata.name === serviceName)
    assert.equal(headless?.spec.clusterIP, 'None')
    for (const { metadata } of manifests) assert.match(metadata.name, /^id-countersign(-pods)?$/)
    if (name === 'sqlite') {
      const [{ backend }] = only(manifests, 'Ingress').spec.rules[0].http.paths
      const target = services.find(({ metadata }) => metadata.name === backend.service.name)
      assert.equal(target?.spec.ports[0].name, backend.service.port.name)
      assert.deepEqual(only(manifests, 'Ingress').spec.tls, [
        { hosts: ['id.example'], secretName: 'id-example-tls' },
      ])
      assert.equal(only(manifests, 'Ingress').spec.rules[0].host, 'id.example')
    } else {
      assert.deepEqual(
        pod.spec.volumes.flatMap(
          (each: { secret?: { secretName: string } }) => each.secret?.secretName ?? [],
        ),
        ['countersign-keys', 'countersign-config'],
      )
      assert.deepEqual(container.envFrom, [{ secretRef: { name: 'countersign-env' } }])
      const url = container.env.find((each: { name: string }) => each.name === 'DATABASE_URL')
      assert.deepEqual(url.valueFrom.secretKeyRef, { name: 'countersign-database', key: 'url' })
      const { jobLabel } = only(manifests, 'PodMonitor').spec
      assert.equal(pod.metadata.labels[jobLabel], 'countersign', 'what the alarms look for')
    }
  }
})

test('the values and the pod of docs/kubernetes.md work', NEEDS, async (t) => {
  const page = new DocPage('docs/kubernetes.md', import.meta.filename)
  const valuesUnder = (heading: string) => parse(page.take(heading, 'yaml'))
  const sqlite = await (await chart()).render(valuesUnder('One replica with SQLite'))
  const postgres = await (await chart()).render(valuesUnder('Three replicas with PostgreSQL'))
  page.assertAllTaken()
  const text = readFileSync(join(ROOT, 'deploy/kubernetes/maintenance.yaml'), 'utf8')
  const pod: Manifest = parse(text, { version: '1.1' })
  assert.equal(await typeErrors(t, [...sqlite.manifests, ...postgres.manifests, pod]), '')
  assertRestricted(pod.spec)
  const { name: set } = only(sqlite.manifests, 'StatefulSet').metadata
  const [claim, keys] = pod.spec.volumes
  assert.equal(claim.persistentVolumeClaim.claimName, `data-${set}-0`)
  assert.equal(keys.secret.secretName, valuesUnder('Three replicas with PostgreSQL').keysSecret)
  const here = containerOf(postgres.manifests)
  const there = pod.spec.containers[0]
  for (const name of ['DATA_DIR', 'KEYS_DIR', 'DATABASE_URL', 'BASE_URL']) {
    const [one, two] = [here, there].map(({ env }) =>
      env.find((each: Manifest) => each.name === name),
    )
    if (name === 'DATABASE_URL') delete two.valueFrom.secretKeyRef.optional
    assert.deepEqual(two, one, name)
  }
  for (const each of there.volumeMounts)
    assert.ok(
      here.volumeMounts.some((own: Manifest) => isDeepStrictEqual(own, each)),
      each.name,
    )
})

test('a long name of a release stays a valid name', NEEDS, async () => {
  const { postgres } = await examples()
  const { manifests } = await (await chart()).render(
    postgres,
    `${'x'.repeat(39)}-${'y'.repeat(13)}`,
  )
  for (const { metadata } of manifests)
    assert.match(metadata.name, /^[a-z]([a-z0-9-]{0,50}[a-z0-9])$/)
})

test(
  'pods satisfy the restricted Pod Security Standard, and get no token of the cluster',
  NEEDS,
  async () => {
    const { postgres } = await examples()
    const { manifests } = await (await chart()).render(postgres)
    const { spec } = podOf(manifests)
    assertRestricted(spec)
    assert.equal(spec.securityContext.fsGroupChangePolicy, 'OnRootMismatch')
    const kinds = new Set(manifests.map(({ kind }) => kind))
    for (const kind of ['Role', 'RoleBinding', 'ServiceAccount', 'Secret'])
      assert.ok(!kinds.has(kind))
  },
)

test('the network policy opens nothing to everybody but DNS and public https', NEEDS, async () => {
  const { sqlite, postgres } = await examples()
  for (const values of [sqlite, postgres])
    assertClosed(only((await (await chart()).render(values)).manifests, 'NetworkPolicy'))
  const none = await (await chart()).render({ ...sqlite, networkPolicy: { enabled: false } })
  assert.ok(!none.manifests.some(({ kind }) => kind === 'NetworkPolicy'))
  assert.match(none.notes, /WARNING: networkPolicy is off/)
})

test(
  'several replicas have a disruption budget, one has none; pods get the time to end',
  NEEDS,
  async () => {
    const { sqlite, postgres } = await examples()
    const one = await (await chart()).render({ ...sqlite, trustedProxies: '', drainSeconds: 30 })
    assert.ok(!one.manifests.some(({ kind }) => kind === 'PodDisruptionBudget'))
    assert.equal(podOf(one.manifests).spec.terminationGracePeriodSeconds, 90)
    assert.equal(variablesOf(one.manifests).DRAIN_SECONDS, '30')
    assert.match(one.notes, /WARNING: trustedProxies is empty/)
    assert.match(one.notes, /WARNING: the keys are in the volume/)
    const three = await (await chart()).render(postgres)
    assert.equal(only(three.manifests, 'PodDisruptionBudget').spec.maxUnavailable, 1)
    assert.doesNotMatch(three.notes, /WARNING/)
    assert.deepEqual(
      only(three.manifests, 'StatefulSet').spec.updateStrategy ?? null,
      null,
      'one by one is the default',
    )
  },
)

test(
  'the value `settings` takes every setting but those that the chart sets or that are secret',
  NEEDS,
  async () => {
    const schema = JSON.parse(readFileSync(join((await chart()).dir, 'values.schema.json'), 'utf8'))
    assert.deepEqual(
      [...schema.properties.settings.propertyNames.enum, ...NOT_IN_SETTINGS].toSorted(),
      settingNames(),
      'a new setting belongs into values.schema.json of the chart',
    )
    const { postgres } = await examples()
    const known = new Set(settingNames())
    for (const { name } of containerOf((await (await chart()).render(postgres)).manifests).env)
      assert.ok(known.has(name), name)
  },
)

test(
  'the service starts with the rendered variables and the keys of a Secret, and its probes pass',
  NEEDS,
  async (t) => {
    const { sqlite } = await examples()
    const { manifests } = await (await chart()).render({ ...sqlite, keysSecret: 'keys' })
    const { PORT: _, ...variables } = variablesOf(manifests)
    const keys = await newKeys(t)
    const before = readdirSync(keys)
    for (const name of before) chmodSync(join(keys, name), 0o440)
    chmodSync(keys, 0o555)
    const mounts = new Map([
      ['/data', tempDir(t)],
      ['/keys', keys],
    ])
    const mounted = (path = '') => path.replace(/^\/\w+/, (root) => mounts.get(root) ?? root)
    const { DATA_DIR, KEYS_DIR, ...given } = variables
    const folders = { DATA_DIR: mounted(DATA_DIR), KEYS_DIR: mounted(KEYS_DIR) }
    const local = { ...folders, HOST: '127.0.0.1', METRICS_PORT: 'off', DRAIN_SECONDS: '0' }
    const service = await startServiceProcess(t, { ...given, ...local })
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      const { path } = containerOf(manifests)[probe].httpGet
      assert.equal((await fetch(service.url + path)).status, 200, path)
    }
    assert.deepEqual(readdirSync(keys), before)
    assert.equal(statSync(folders.DATA_DIR).mode & 0o777, 0o700)
    assert.deepEqual(
      readdirSync(folders.DATA_DIR).filter((name) => before.includes(name)),
      [],
    )
    assert.equal(await service.stop(), 0)
  },
)
