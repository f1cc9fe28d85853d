import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { WebhookDelivery } from '@countersign/protocol'
import { startReceiver } from '../packages/server/test/webhooks/support/receiver.ts'
import type { WithSecret } from '../packages/server/test/webhooks/support/webhook-world.ts'
import { jsonOf } from './support/answer.ts'
import { DocPage } from './support/doc-page.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { freePort } from './support/ports.ts'
import { BASE_ENV } from './support/run.ts'
import { claimAgent, ROOT, startTestService, type TestService, tempDir } from './support/service.ts'
import { signIn } from './support/signed-in.ts'
import { needs } from './support/tools.ts'
import { until, untilTicked } from './support/until.ts'

const PAGE = new DocPage('docs/webhooks.md', import.meta.filename)
const WEBHOOKS = '/api/account/webhooks'
const file = fileCleanup()
let service: TestService
let ownerId: number
/** Signed in just now: `before` may have run long ago, with those of other files. */
const signedIn = () => signIn(service, ownerId)

before(async () => {
  service = await startTestService(file)
  ownerId = await service.operator.addVerifiedOwner('ada')
})
interface Receiver {
  readonly child: ChildProcess
  readonly port: number
  output(): string
}

/** Runs the receiver of the page, with a secret. */
async function start(program: string, args: readonly string[], secret: string): Promise<Receiver> {
  const port = await freePort('localhost')
  const env = { ...BASE_ENV, WEBHOOK_SECRET: secret, PORT: String(port) }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  file.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}/`
  await until(async () => {
    assert.equal(child.exitCode, null, output)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  return { child, port, output: () => output }
}

async function addEndpoint(url: string): Promise<WithSecret> {
  return jsonOf<WithSecret>(await (await signedIn()).post(WEBHOOKS, { url }))
}

/** A receiver with the secret accepts events; with another secret it refuses them. */
async function assertVerifies(program: string, args: readonly string[]): Promise<void> {
  const owner = await signedIn()
  const placeholder = await startReceiver(file)
  const webhook = await addEndpoint(placeholder.url)
  const path = `${WEBHOOKS}/${webhook.id}`
  const receiver = await start(program, args, webhook.secret)
  const url = `http://127.0.0.1:${receiver.port}/hook`
  assert.equal((await owner.send('PATCH', path, { url })).status, 200)
  const did = await claimAgent(service, owner.ownerId)
  await untilTicked(service, async () => receiver.output().includes(`agent.claimed ${did}`))

  const other = await start(program, args, (await addEndpoint(placeholder.url)).secret)
  await owner.send('PATCH', path, { url: `http://127.0.0.1:${other.port}/hook` })
  const refused = jsonOf<WebhookDelivery>(await owner.post(`${path}/test`))
  assert.deepEqual([refused.state, refused.status], ['failed', 401])
}

const HEADING = '1. Verify deliveries'
const typescript = PAGE.take(HEADING, 'ts')
const python = PAGE.take(HEADING, 'python')
const asymmetric = PAGE.take('Verify with the public key')

test('the TypeScript receiver verifies deliveries with standardwebhooks', async () => {
  const dir = tempDir(file)
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  writeFileSync(join(dir, 'receiver.mts'), typescript)
  await assertVerifies(process.execPath, [join(dir, 'receiver.mts')])
})

test('the Python receiver verifies deliveries', needs('python3'), async () => {
  const dir = tempDir(file)
  writeFileSync(join(dir, 'receiver.py'), python)
  await assertVerifies('python3', [join(dir, 'receiver.py')])
})

test('the public key verifies deliveries', async () => {
  const dir = tempDir(file)
  writeFileSync(join(dir, 'verify.mjs'), asymmetric)
  const { isAuthentic } = (await import(join(dir, 'verify.mjs'))) as {
    isAuthentic(key: string, headers: object, body: string): boolean
  }
  const receiver = await startReceiver(file)
  const { id, publicKey } = await addEndpoint(receiver.url)
  await (await signedIn()).post(`${WEBHOOKS}/${id}/test`)
  const [delivery] = receiver.received
  assert.ok(delivery)
  assert.equal(isAuthentic(publicKey, delivery.headers, delivery.body), true)
  assert.equal(
    isAuthentic(publicKey, delivery.headers, delivery.body.replace('test', 'tset')),
    false,
  )
})

test('every block was run', () => PAGE.assertAllTaken())
