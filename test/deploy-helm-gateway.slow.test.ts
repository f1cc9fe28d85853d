import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../packages/gateway/src/forward-auth/config.ts'
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
import { fileCleanup } from './support/file-cleanup.ts'
import { buildGo } from './support/go.ts'
import { ROOT, run, tempDir } from './support/service.ts'
import { needs } from './support/tools.ts'

const NEEDS = needs('go', 'github.com/Masterminds/sprig', 'sigs.k8s.io/yaml')
const GATEWAY = join(ROOT, 'packages/gateway/bin/countersign-gateway.mjs')

const CLI = join(ROOT, 'packages/cli/bin/countersign.mjs')

const cleanup = fileCleanup()
let program: Promise<string> | undefined

async function chart(): Promise<Chart> {
  program ??= buildGo(cleanup, 'render-chart')
  return new Chart('countersign-gateway', await program)
}

test(
  'the examples are objects of Kubernetes 1.27 or later, whose names agree',
  NEEDS,
  async (t) => {
    const all: Manifest[] = []
    assertPlain(await chart())
    for (const name of ['redis', 'single']) {
      const { manifests } = await (await chart()).render((await chart()).example(name), 'shop')
      all.push(...manifests)
      const deployment = only(manifests, 'Deployment')
      assertNamesAgree(manifests, deployment)
      assertRestricted(deployment.spec.template.spec)
      assertClosed(only(manifests, 'NetworkPolicy'))
      const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget')
      assert.equal(budgets.length, name === 'redis' ? 1 : 0)
      for (const { metadata } of manifests) assert.equal(metadata.name, 'shop-countersign-gateway')
      const [{ configMap }] = deployment.spec.template.spec.volumes
      assert.equal(configMap.name, only(manifests, 'ConfigMap').metadata.name)
    }
    assert.equal(await typeErrors(t, all), '')
  },
)

test('values that could not work are refused, with the reason', NEEDS, async () => {
  const redis = (await chart()).example('redis')
  const single = (await chart()).example('single')
  const nonces = { noncesSecret: { name: '' } }
  const peer = [{ podSelector: {} }]
  for (const [values, reason] of [
    [{ ...single, image: {} }, /image.repository is required/],
    [{ ...single, serviceUrl: '' }, /serviceUrl is required/],
    [{ ...redis, ...nonces }, /nonces is required with more than one replica/],
    [{ ...redis, nonces: 'redis://redis' }, /cannot be combined/],
    [{ ...redis, ...nonces, nonces: 'redis://u:p@redis' }, /use noncesSecret/],
    [{ ...redis, sessionSecret: { name: '' } }, /signInPath requires sessionSecret/],
    [{ ...redis, audiences: [] }, /sessionSecret requires audiences/],
    [{ ...single, networkPolicy: {} }, /networkPolicy.from must name your proxies/],
    [{ ...single, podMonitor: { enabled: true } }, /networkPolicy.metricsFrom must name/],
    [
      { ...single, nonces: 'redis://r', networkPolicy: { from: peer } },
      /egress needs a rule for Redis/,
    ],
    [{ ...single, serviceUrl: 'http://id.svc' }, /egress needs a rule for the service/],
  ] as const)
    await assert.rejects((await chart()).render(values), reason)
  for (const values of [{ config: {} }, { settings: { port: 1 } }, { nonces: 'http://x' }])
    assert.notEqual((await chart()).mistakesIn({ ...single, ...values }), '')
  const { notes } = await (await chart()).render({ ...redis, ...nonces, nonces: 'memory' })
  assert.match(notes, /WARNING: nonces is memory. Each of the 2 replicas accepts/)
})

test(
  'gateways pass their own check with the rendered file, and get the values as they are',
  NEEDS,
  async (t) => {
    const odd = `"'\\\\ {{ .Release.Name }} \\n\\u0085\\u2028 # : $(X) \u{1f600}`
    const values = (await chart()).example('redis')
    const policy = { ...(values.policy as object), require: { owners: [{ name: odd }] } }
    const { manifests } = await (await chart()).render(values)
    const { config, file } = write(t, manifests)
    const checked = await run(process.execPath, [GATEWAY, '--check', '--config', file])
    assert.equal(checked.code, 0, checked.stderr)
    assert.equal(config.nonces, 'rediss://:password@redis.example')
    assert.deepEqual(
      [config.registry.service, config.issuer, config.timeoutMs, config.port, config.host],
      ['http://countersign.identity.svc', 'https://id.example', 1500, 8181, '0.0.0.0'],
    )
    assert.equal(config.sessions?.signIn?.path, '/agent-sign-in')
    const other = await (await chart()).render({ ...values, policy })
    const text = only(other.manifests, 'ConfigMap').data['gateway.json']
    assert.deepEqual(JSON.parse(text).policy, policy)
    const annotations = (each: readonly Manifest[]) =>
      only(each, 'Deployment').spec.template.metadata.annotations
    assert.deepEqual(
      annotations(other.manifests),
      annotations(manifests),
      'no restart for a policy',
    )
    const single = (await chart()).example('single')
    const open = { networkPolicy: { enabled: false } }
    const moved = await (await chart()).render({ ...single, ...open, nonces: 'redis://redis' })
    assert.notDeepEqual(annotations(moved.manifests), annotations(manifests), 'but for a Redis')
  },
)

test('the example of an agent: its token, its key and its commands fit, and the key is in memory only', async (t) => {
  const text = readFileSync(join(ROOT, 'deploy/kubernetes/agent.yaml'), 'utf8')
  const objects = parseAllDocuments(text, { version: '1.1' }).map((each) => each.toJS() as Manifest)
  assert.equal(await typeErrors(t, objects), '')
  const { template, selector } = only(objects, 'Deployment').spec
  const pod = template.spec
  assertRestricted(pod)
  assert.deepEqual(selector.matchLabels, template.metadata.labels)
  assert.equal(pod.serviceAccountName, only(objects, 'ServiceAccount').metadata.name)
  const [keys, token] = pod.volumes
  assert.equal(keys.emptyDir.medium, 'Memory')
  const [{ serviceAccountToken: projected }] = token.projected.sources
  assert.equal(projected.expirationSeconds, 3600)
  const help = await run(process.execPath, [CLI, 'enrol', '--help'])
  const [enrol, hold] = pod.initContainers
  for (const { args, volumeMounts } of [enrol, hold]) {
    const [command, subcommand, ...options] = args as string[]
    assert.deepEqual([command, subcommand], ['countersign', 'enrol'])
    const given = new Map(options.map((each) => each.split('=') as [string, string | undefined]))
    for (const name of given.keys()) assert.ok(help.stdout.includes(`${name} `), name)
    assert.equal(projected.audience, `${given.get('--service')}/enrol/${given.get('--rule')}`)
    const folders = Object.fromEntries(
      volumeMounts.map((each: Manifest) => [each.name, each.mountPath]),
    )
    assert.equal(given.get('--token-file'), `${folders.token}/${projected.path}`)
    assert.ok(given.get('--key')?.startsWith(`${folders.keys}/`))
  }
  assert.equal(enrol.restartPolicy, undefined, 'it ends before the program starts')
  assert.ok(hold.args.includes('--hold') && hold.args.includes('--end-on-exit'))
  assert.equal(hold.restartPolicy, 'Always', 'a sidecar, which is stopped after the program')
  const [program] = pod.containers
  const key = enrol.args.find((each: string) => each.startsWith('--key='))
  assert.deepEqual(program.env, [{ name: 'COUNTERSIGN_KEY', value: key.slice('--key='.length) }])
})

/** Writes the rendered file, with the Secrets that it names beside it. */
function write(t: TestContext, manifests: readonly Manifest[]) {
  const dir = tempDir(t)
  const secrets = {
    nonces: ['url', 'rediss://:password@redis.example\n'],
    session: ['secret', 'x'.repeat(32)],
  }
  let text: string = only(manifests, 'ConfigMap').data['gateway.json']
  for (const [mount, [key, content]] of Object.entries(secrets)) {
    mkdirSync(join(dir, mount), { recursive: true })
    writeFileSync(join(dir, mount, key as string), content as string)
    text = text.replace(`"/${mount}/`, `"${join(dir, mount)}/`)
  }
  const file = join(dir, 'gateway.json')
  writeFileSync(file, text)
  return { config: readConfig(text, {}), file }
}
