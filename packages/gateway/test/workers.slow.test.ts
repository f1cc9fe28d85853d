import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { before, test } from 'node:test'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { Miniflare } from 'miniflare'
import { build, type Rolldown } from 'vite'
import { approvalToken, serviceSigner } from '../../../test/support/approval-token.ts'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { freePort } from '../../../test/support/ports.ts'
import { type Cleanup, startTestService, type TestService } from '../../../test/support/service.ts'
import { until } from '../../../test/support/until.ts'

const cleanup = fileCleanup()
const POST = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'one lamp' }
let service: TestService
let script: string

before(async () => {
  service = await startTestService(cleanup)
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      lib: { entry: join(import.meta.dirname, 'support/nonce-worker.ts'), formats: ['es'] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput[]
  const [chunk] = [built].flat()[0]?.output ?? []
  script = chunk?.code ?? ''
})

/** A Worker in workerd, and an agent that signs requests to it. */
async function startWorker(t: Cleanup, { withStore }: { readonly withStore: boolean }) {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const errors: string[] = []
  const worker = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: script }],
    compatibilityDate: '2026-07-01',
    bindings: { SERVICE: service.url, ORIGIN: origin },
    durableObjects: withStore ? { NONCES: { className: 'Nonces', useSQLite: true } } : {},
    host: '127.0.0.1',
    port,
    handleRuntimeStdio: (_: Readable, stderr: Readable) => {
      stderr.on('data', (chunk) => errors.push(String(chunk)))
    },
  })
  t.after(() => worker.dispose())
  await worker.ready
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const agent = new Agent({ registry, signer: await newKey(), audiences: [origin] })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  const { keyThumbprint } = await registry.agent(did)
  const evict = () => fetch(`http://127.0.0.1:${port}/evict?keyid=${keyThumbprint}`)
  return { agent, did, url: `${origin}/orders`, origin, evict, errors }
}

test('with a Durable Object, a POST is admitted at once, and of 20 copies one is, also if the object is evicted', async (t) => {
  const { agent, did, url, evict } = await startWorker(t, { withStore: true })
  const first = await agent.fetch(url, POST)
  assert.deepEqual([first.status, await first.json()], [200, { did }])
  const request = await agent.sign(url, POST)
  const copies = await Promise.all(Array.from({ length: 20 }, () => fetch(request.clone())))
  const statuses = copies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 401)])
  await evict()
  assert.equal((await fetch(request.clone())).status, 401)
  assert.equal((await agent.fetch(url, POST)).status, 200)
  // Evicted while copies are on their way: those that it interrupts are refused, and no two are admitted.
  const second = await agent.sign(url, POST)
  const send = async (i: number) => {
    if (i % 5 === 2) await evict()
    return (await fetch(second.clone())).status
  }
  const mixed = await Promise.all(Array.from({ length: 20 }, (_, i) => send(i)))
  assert.ok(mixed.filter((status) => status === 200).length <= 1, String(mixed))
  assert.ok(
    mixed.every((status) => [200, 401, 503].includes(status)),
    String(mixed),
  )
  assert.equal((await fetch(second.clone())).status, 401)
})

test('with a Durable Object, an approval is used once, also after a change of the key, and from the first request on', async (t) => {
  const { agent, did, origin } = await startWorker(t, { withStore: true })
  const url = `${origin}/pay`
  const body = '{"total":"129.00"}'
  const claims = { aud: origin, url, body }
  const token = await approvalToken(await serviceSigner(service), did, claims)
  const headers = { 'content-type': 'application/json' }
  const pay = async () => {
    const response = await agent.fetch(url, { method: 'POST', headers, body, approval: token })
    return [response.status, await response.text()] as const
  }
  const copies = await Promise.all(Array.from({ length: 10 }, pay))
  assert.deepEqual(
    copies.map(([status]) => status).sort(),
    [200, ...Array.from({ length: 9 }, () => 403)],
    JSON.stringify(copies),
  )
  await agent.rotateKey(await newKey())
  await until(async () => {
    const [status, text] = await pay()
    return status === 403 && text.includes('approval-used')
  })
})

test('without a store, a Worker says so at the start and with each refusal, and does not ask to wait', async (t) => {
  const { agent, url, errors } = await startWorker(t, { withStore: false })
  for (let i = 0; i < 2; i++) {
    const refused = await agent.fetch(url, POST)
    const { error } = (await refused.json()) as { error: { code: string; reasons: string[] } }
    assert.deepEqual(
      [refused.status, error.code, error.reasons[0]],
      [503, 'UNAVAILABLE', 'no-nonce-store'],
    )
    assert.equal(refused.headers.get('retry-after'), null)
    assert.equal(refused.headers.get('accept-signature'), null)
  }
  assert.equal((await agent.fetch(url)).status, 200)
  assert.match(
    errors.join(''),
    /refuses every signed request that changes state \(no-nonce-store\)/,
  )
})

test('an object holds 12,500 nonces of its key, and its alarm deletes what has expired', async (t) => {
  const { origin } = await startWorker(t, { withStore: true })
  const tell = async (path: string, body: object = {}) =>
    (await fetch(origin + path, { method: 'POST', body: JSON.stringify(body) })).json()
  const record = (hash: string) => tell('/record', { hash, expiresAt: later })
  const later = Date.now() + 600_000
  const past = Date.now() - 1_000
  assert.equal(await record('one'), 'fresh')
  assert.equal(await tell('/fill', { count: 12_498, expiresAt: later }), 12_499)
  assert.equal(await record('last'), 'fresh')
  assert.equal(await record('one too many'), 'share-exceeded')
  assert.equal(await record('one'), 'used')
  assert.equal(await tell('/fill', { count: 100, expiresAt: past }), 12_600)
  assert.equal(await tell('/alarm'), 12_500)
  assert.equal(await record('one'), 'used')
})
