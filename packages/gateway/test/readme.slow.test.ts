import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { unverify } from '../../../test/support/agents.ts'
import { blocksOf } from '../../../test/support/doc-page.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { freePort } from '../../../test/support/ports.ts'
import { ROOT, startTestService, type TestService, tempDir } from '../../../test/support/service.ts'
import { snippetsOf } from '../../../test/support/snippets.ts'
import { until } from '../../../test/support/until.ts'
import { REASON_MESSAGES } from '../src/decision/reasons.ts'
import { readConfig } from '../src/forward-auth/config.ts'
import { COMMAND } from './support/gateway-process.ts'
import { partOf, README, REFERENCE } from './support/readme-reference.ts'

const SITES = ['with-express.ts', 'with-fastify.ts', 'with-hono.ts', 'people-too.ts', 'proven.ts']
const ORDERS = ['orders-express.ts', 'orders-fastify.ts', 'orders-hono.ts']

/** A project with the gateway installed and the README's snippets, changed to the addresses of the test. */
function project(t: TestContext, addresses: Readonly<Record<string, string>>): string {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'node_modules/@countersign'), { recursive: true })
  for (const name of ['@countersign/gateway', '@countersign/sdk']) {
    symlinkSync(join(ROOT, 'packages', name.slice(13)), join(dir, 'node_modules', name))
  }
  for (const name of ['express', 'fastify', 'hono', '@hono']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name))
  }
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  for (const [name, code] of snippetsOf(README)) {
    const placed = Object.entries(addresses).reduce(
      (text, [address, here]) => text.replaceAll(address, here),
      code,
    )
    writeFileSync(join(dir, name), placed)
  }
  return dir
}

/** Runs one of the README's sites. */
async function startSnippet(t: TestContext, dir: string, file: string, port: number) {
  const env = { ...process.env, PORT: String(port), SESSION_SECRET: 's'.repeat(32) }
  const child = spawn(process.execPath, [file], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  t.after(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    assert.equal(child.exitCode, null, output)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  return { url, output: () => output }
}

async function start(t: TestContext, file: string) {
  const service = await startTestService(t)
  const port = await freePort('127.0.0.1')
  const dir = project(t, {
    'https://id.example': service.url,
    'https://shop.example': `http://127.0.0.1:${port}`,
  })
  return { service, ...(await startSnippet(t, dir, file, port)) }
}

/** An agent that signs requests to one audience. Its owner is verified. */
async function agentFor(service: TestService, audience: string) {
  const { operator } = service
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const agent = new Agent({ registry, signer: await newKey(), audiences: [audience] })
  const owner = await operator.addVerifiedOwner()
  const { did } = await agent.claim(await operator.issueToken(owner))
  return { agent, did, owner }
}

for (const file of ['with-express.ts', 'with-fastify.ts', 'with-hono.ts']) {
  test(`${file} of the README runs, admits who signs and refuses who only names a public DID`, async (t) => {
    const { service, url } = await start(t, file)
    const { agent, did } = await agentFor(service, url)
    const response = await agent.fetch(url)
    assert.deepEqual([response.status, await response.text()], [200, `Hello, ${did}`])
    assert.equal((await fetch(url, { headers: { ServiceID: did } })).status, 401)
    assert.equal((await fetch(url)).status, 401)
  })
}

for (const file of ORDERS) {
  test(`${file} of the README: only proven agents of verified owners may POST /orders`, async (t) => {
    const { service, url } = await start(t, file)
    const { agent, did } = await agentFor(service, url)
    const orders = `${url}/orders`
    const init = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'one item' }
    // A site that has just started asks for a signature with its nonce, which the agent sends.
    const response = await agent.fetch(orders, init)
    assert.deepEqual([response.status, await response.text()], [200, `Ordered by ${did}`])
    const named = { ...init, headers: { ...init.headers, ServiceID: did } }
    assert.equal((await fetch(orders, named)).status, 402)
    assert.equal((await fetch(orders, init)).status, 402)
    const other = await agentFor(service, url)
    await unverify(service, other.owner, other.did)
    assert.equal((await other.agent.fetch(orders, init)).status, 402)
    const signed = await agent.sign(orders, init)
    const changed = { method: 'POST', headers: signed.headers, body: 'two items' }
    // Without its nonce, a site that has just started cannot tell more: 503.
    assert.ok([402, 503].includes((await fetch(orders, changed)).status))
  })
}

test('worker.ts and orders-worker.ts of the README admit who signs and refuse others', async (t) => {
  const service = await startTestService(t)
  const shop = 'https://shop.example'
  const { agent, did } = await agentFor(service, shop)
  const dir = project(t, { 'https://id.example': service.url })
  const load = async (file: string) =>
    (await import(pathToFileURL(join(dir, file)).href)).default as {
      fetch(request: Request): Promise<Response>
    }
  const worker = await load('worker.ts')
  assert.equal(await (await worker.fetch(await agent.sign(shop))).text(), `Hello, ${did}`)
  assert.equal((await worker.fetch(new Request(shop, { headers: { ServiceID: did } }))).status, 401)
  const orders = await load('orders-worker.ts')
  const init = { method: 'POST', headers: { ServiceID: did } }
  assert.equal((await orders.fetch(new Request(`${shop}/orders`, init))).status, 402)
  const real = globalThis.fetch
  t.mock.method(globalThis, 'fetch', (...args: Parameters<typeof fetch>) => {
    const request = new Request(...args)
    return new URL(request.url).origin === shop ? orders.fetch(request) : real(request)
  })
  // The agent signs again with the nonce of a site that has just started.
  const ordered = await agent.fetch(`${shop}/orders`, { method: 'POST', body: 'one item' })
  assert.equal(ordered.status, 200, await ordered.text())
})

test('people-too.ts of the README refuses nothing and logs its decisions', async (t) => {
  const { url, output } = await start(t, 'people-too.ts')
  const headers = { ServiceID: `svc:agent:${'z'.repeat(24)}` }
  assert.equal((await fetch(url, { headers })).status, 200)
  assert.equal((await fetch(url)).status, 200)
  await until(async () => /agent-unknown$.*no-identification$/ms.test(output()))
  assert.match(output(), /^deny svc:agent:z{24} agent-unknown$/m)
  assert.match(output(), /^allow null no-identification$/m)
})

test('proven.ts of the README admits a signed-in agent and refuses the header alone', async (t) => {
  const { service, url } = await start(t, 'proven.ts')
  const { agent, did } = await agentFor(service, url)
  assert.equal((await fetch(url, { headers: { ServiceID: did } })).status, 401)
  const { token } = await agent.signIn(`${url}/agent-sign-in`)
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(await response.text(), `Welcome, ${did}`)
})

test('countersign-gateway runs with the command and the file of the README', async (t) => {
  const dir = tempDir(t)
  const blocks = blocksOf('packages/gateway/README.md')
  const textOf = (language: string) => blocks.findLast((each) => each.language === language)?.text
  const [npx, command, ...args] = (textOf('sh') ?? '').trim().split(' ')
  assert.deepEqual([npx, command], ['npx', 'countersign-gateway'])
  const file = { ...JSON.parse(textOf('json') ?? ''), port: 0, service: 'http://127.0.0.1:1' }
  writeFileSync(join(dir, 'gateway.json'), JSON.stringify(file))
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: dir })
  t.after(() => child.kill('SIGKILL'))
  const line = await new Promise<string>((resolve) => child.stdout.once('data', resolve))
  const { port } = JSON.parse(String(line))
  const headers = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/' }
  const ask = (more: object) =>
    fetch(`http://127.0.0.1:${port}/auth/forward`, { headers: { ...headers, ...more } })
  assert.equal((await ask({})).status, 200)
  const order = { 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/orders' }
  assert.equal((await ask(order)).status, 402)
  assert.equal((await ask({ ServiceID: 'A'.repeat(24) })).status, 503)
})

test('every snippet of the README is run by a test', () => {
  assert.deepEqual(
    [...snippetsOf(README).keys()].sort(),
    [...SITES, ...ORDERS, 'orders-policy.ts', 'worker.ts', 'orders-worker.ts'].sort(),
  )
})

for (const [name, made] of Object.entries(REFERENCE)) {
  test(`the reference of ${name} in the README matches the code`, () => {
    assert.equal(partOf(name), made())
  })
}

test('numbers and names in the README match the code', () => {
  const page = readFileSync(README, 'utf8')
  const listed = /^The reasons, by what decided:\n\n(.*?)\n\n/ms.exec(page)?.[1] ?? ''
  const codes = [...listed.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code)
  assert.deepEqual(codes.sort(), Object.keys(REASON_MESSAGES).sort())
  const files = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text)
  const policies = files.map((text) => readConfig(text, {}).policy)
  assert.equal(policies.at(-1)?.unreachable, 'stale')
  const { dependencies } = JSON.parse(
    readFileSync(join(ROOT, 'packages/gateway/package.json'), 'utf8'),
  )
  assert.deepEqual(Object.keys(dependencies), ['@countersign/sdk'])
  for (const [, path = ''] of page.matchAll(/\]\((\.\.[^)]*)\)/g)) {
    const [file = ''] = path.split('#')
    assert.ok(readFileSync(join(ROOT, 'packages/gateway', file), 'utf8').length > 0)
  }
})
