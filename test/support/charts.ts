import assert from 'node:assert/strict'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { run } from './run.ts'
import { type Cleanup, ROOT, tempDir } from './service.ts'

/** Helm reads YAML 1.1, as Kubernetes does: 0440 is octal there. */
const YAML = { version: '1.1' } as const

type Values = Readonly<Record<string, unknown>>

/** An object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels: Record<string, string>
    readonly annotations?: Record<string, string>
  }
  // biome-ignore lint/suspicious/noExplicitAny: tsc checks the fields, against the types of kubernetes-models
  readonly [field: string]: any
}

export interface Rendered {
  readonly manifests: readonly Manifest[]
  readonly notes: string
}

/** A chart of `deploy/helm`, rendered by Go's templates with Sprig, of which Helm is made. Helm itself is not run. */
export class Chart {
  readonly dir: string
  readonly #program: string
  readonly #metadata: Values
  readonly #defaults: Values
  readonly #isValid

  /** @param program the renderer, `tools/render-chart` */
  constructor(name: string, program: string) {
    this.dir = join(ROOT, 'deploy/helm', name)
    this.#program = program
    this.#metadata = this.#read('Chart.yaml')
    this.#defaults = this.#read('values.yaml')
    const schema = JSON.parse(readFileSync(join(this.dir, 'values.schema.json'), 'utf8'))
    this.#isValid = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true }).compile(
      schema,
    )
  }

  #read(file: string): Values {
    return parse(readFileSync(join(this.dir, file), 'utf8'), YAML) as Values
  }

  /** The values of a file in `ci/`. */
  example(name: string): Values {
    return this.#read(join('ci', `${name}.yaml`))
  }

  /** What is wrong with values by the chart's schema. */
  mistakesIn(values: Values): string {
    if (this.#isValid(merge(this.#defaults, values))) return ''
    return JSON.stringify(this.#isValid.errors)
  }

  /** @throws Error with the message of the template that fails */
  async render(values: Values, release = 'countersign'): Promise<Rendered> {
    assert.equal(this.mistakesIn(values), '')
    const given = JSON.stringify({ release, values: merge(this.#defaults, values) })
    const args = [this.dir, JSON.stringify(this.#metadata)]
    const { stdout, stderr } = await run(this.#program, args, {}, given)
    assert.equal(stderr, '')
    const { files, error } = JSON.parse(stdout) as {
      files?: Record<string, string>
      error?: string
    }
    if (files === undefined) throw new Error(error)
    const { 'NOTES.txt': notes = '', ...templates } = files
    const manifests = Object.values(templates).flatMap((each) =>
      parseAllDocuments(each, YAML).flatMap((document) => {
        assert.deepEqual(document.errors, [], each)
        return (document.toJS() as Manifest | null) ?? []
      }),
    )
    return { manifests, notes }
  }
}

/** As Helm fills in defaults: objects are merged, lists are replaced, null removes. */
function merge(defaults: Values, values: Values): Values {
  const merged: Record<string, unknown> = { ...defaults }
  for (const [name, value] of Object.entries(values)) {
    const former = merged[name]
    if (value === null) delete merged[name]
    else merged[name] = isObject(value) && isObject(former) ? merge(former, value) : value
  }
  return merged
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Writes objects as literals of their types (`kubernetes-models`, `@kubernetes-models/prometheus-operator`) and checks them with tsc. An
 * unknown or misspelt field, a missing one and a wrong type are errors.
 * @returns the errors of tsc
 */
export async function typeErrors(t: Cleanup, manifests: readonly Manifest[]): Promise<string> {
  const dir = tempDir(t)
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  const literals = manifests.map(
    (each, i) => `export const object${i}: ${typeOf(each)} = ${JSON.stringify(each, null, 1)}`,
  )
  writeFileSync(join(dir, 'manifests.ts'), literals.join('\n'))
  const compilerOptions = {
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  }
  const config = join(dir, 'tsconfig.json')
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ['manifests.ts'] }))
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { code, stdout, stderr } = await run(process.execPath, [tsc, '-p', config])
  assert.equal(stderr, '')
  return code === 0 ? '' : stdout
}

function typeOf({ apiVersion, kind }: Manifest): string {
  const operator = apiVersion.startsWith('monitoring.coreos.com/')
  const types = operator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'
  return `import('${types}/${apiVersion}').I${kind}`
}

/** @returns the only object of a kind */
export function only(manifests: readonly Manifest[], kind: string): Manifest {
  const found = manifests.filter((each) => each.kind === kind)
  assert.equal(found.length, 1, kind)
  return found[0] as Manifest
}

/** Asserts that the templates of a chart ask no cluster, make nothing at random, and have no hooks. */
export function assertPlain({ dir }: Chart): void {
  const folder = join(dir, 'templates')
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), 'utf8')
    assert.doesNotMatch(
      text,
      /\b(lookup|tpl|rand\w+|gen[A-Z]\w+|uuidv4|now|helm\.sh\/hook)\b/,
      name,
    )
  }
}

/** Asserts that all selectors select the pods of a workload, that ports have names that exist, and that each volume is mounted. */
export function assertNamesAgree(
  manifests: readonly Manifest[],
  { spec: { template, volumeClaimTemplates = [] } }: Manifest,
): void {
  const [container] = template.spec.containers
  const ports = container.ports.map(({ name }: Named) => name)
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe']
  const used = probes.map((probe) => container[probe].httpGet.port)
  for (const { kind, spec = {} } of manifests) {
    const selector = kind === 'NetworkPolicy' ? spec.podSelector : spec.selector
    const labels = kind === 'Service' ? selector : selector?.matchLabels
    if (labels === undefined) continue
    assert.ok(Object.keys(labels).length === 2, kind)
    for (const [label, value] of Object.entries(labels))
      assert.equal(template.metadata.labels[label], value, `${kind}: ${label}`)
    if (kind === 'Service') used.push(...spec.ports.map((each: Manifest) => each.targetPort))
    if (kind === 'PodMonitor')
      used.push(...spec.podMetricsEndpoints.map((each: Manifest) => each.port))
    if (kind === 'NetworkPolicy')
      used.push(
        ...spec.ingress.flatMap((each: Manifest) => each.ports.map(({ port }: Manifest) => port)),
      )
  }
  for (const port of used) assert.ok(ports.includes(port), port)
  const claims = volumeClaimTemplates.map(({ metadata }: Manifest) => metadata)
  assert.deepEqual(
    container.volumeMounts.map(({ name }: Named) => name).toSorted(),
    [...template.spec.volumes, ...claims].map(({ name }: Named) => name).toSorted(),
  )
}

interface Named {
  readonly name: string
}

/** Asserts that a pod satisfies the restricted Pod Security Standard, gets no token of the cluster, and shows Secrets to its group only. */
export function assertRestricted(pod: Manifest['spec']): void {
  assert.equal(pod.automountServiceAccountToken, false)
  const { runAsNonRoot, runAsUser, runAsGroup, fsGroup, seccompProfile } = pod.securityContext
  assert.equal(runAsNonRoot, true)
  assert.deepEqual([runAsUser, runAsGroup, fsGroup], [1000, 1000, 1000], 'the user of the image')
  assert.deepEqual(seccompProfile, { type: 'RuntimeDefault' })
  for (const { securityContext } of [...(pod.initContainers ?? []), ...pod.containers]) {
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  }
  for (const { secret } of pod.volumes)
    if (secret !== undefined) assert.equal(secret.defaultMode, 0o440)
}

/** Asserts that a network policy lets nobody in that it does not name, and out only to names, DNS, and https at public addresses. */
export function assertClosed({ spec }: Manifest): void {
  assert.deepEqual(spec.policyTypes, ['Ingress', 'Egress'])
  for (const { from } of spec.ingress) assert.ok(from.length > 0)
  const everywhere = spec.egress.filter(({ to }: Manifest) => to === undefined)
  const dns = ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol }))
  assert.deepEqual(everywhere, [{ ports: dns }])
  const [https] = spec.egress.filter(({ ports }: Manifest) => ports[0].port === 443)
  const excluded = new BlockList()
  for (const { ipBlock } of https.to) {
    for (const cidr of ipBlock.except) {
      const [address, bits] = cidr.split('/')
      excluded.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
    }
  }
  const inside = ['10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.100.0.1']
  for (const address of inside) assert.ok(excluded.check(address), address)
  for (const address of ['fd00:ec2::254', 'fe80::1']) assert.ok(excluded.check(address, 'ipv6'))
  assert.equal(excluded.check('172.15.0.1'), false)
}
