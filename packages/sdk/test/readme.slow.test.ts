import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { newTestRule } from '../../../test/support/enrolment-rule.ts'
import { startSite } from '../../../test/support/impostor.ts'
import { freePort } from '../../../test/support/ports.ts'
import { BASE_ENV } from '../../../test/support/run.ts'
import {
  ROOT,
  run,
  startTestService,
  type TestService,
  tempDir,
} from '../../../test/support/service.ts'
import { snippetsOf } from '../../../test/support/snippets.ts'
import { Agent } from '../src/agent.ts'
import { newKey } from '../src/keys/keys.ts'
import { nodeListener } from '../src/node/node-listener.ts'
import { Registry } from '../src/registry.ts'

const DID = /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}/

/** A project that has installed the SDK, whose addresses are those of a test. */
function project(t: TestContext, addresses: Readonly<Record<string, string>>): string {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'node_modules/@countersign'), { recursive: true })
  symlinkSync(join(ROOT, 'packages/sdk'), join(dir, 'node_modules/@countersign/sdk'))
  for (const name of ['express', 'fastify', 'hono', '@hono']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name))
  }
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  for (const [name, code] of snippetsOf(join(ROOT, 'packages/sdk/README.md'))) {
    const placed = Object.entries(addresses).reduce(
      (text, [address, here]) => text.replaceAll(address, here),
      code,
    )
    writeFileSync(join(dir, name), placed)
  }
  return dir
}

test('every snippet of the README runs, and does what the README says', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const port = await freePort()
  const shop = `http://127.0.0.1:${port}`
  const dir = project(t, { 'https://id.example': service.url, 'https://shop.example': shop })
  const env = { HOME: dir, PORT: String(port), SESSION_SECRET: 's'.repeat(32) }
  const ran = new Set<string>()
  const node = async (file: string, more: Readonly<Record<string, string>> = {}) => {
    ran.add(file)
    const { code, stdout, stderr } = await run(
      'sh',
      ['-c', 'cd "$1" && exec "$2" "$3"', 'sh', dir, process.execPath, file],
      { ...env, ...more },
    )
    assert.equal(code, 0, `${file}: ${stderr}`)
    assert.equal(stderr, '', file)
    return stdout.trim().split('\n')
  }

  const [did = ''] = await node('claim.ts', {
    CLAIM_TOKEN: await service.operator.issueToken(owner),
  })
  assert.match(did, DID)
  assert.deepEqual(await node('keys.ts'), ['five times the same key'])
  assert.match((await node('kms.ts')).join(), /^[A-Za-z0-9+/]{43}=$/)

  ran.add('site.ts')
  const site = spawn(process.execPath, ['site.ts'], { cwd: dir, env: { ...process.env, ...env } })
  t.after(() => site.kill())
  while (!(await fetch(shop).catch(() => null))) await sleep(25)
  assert.equal(await (await fetch(shop)).text(), 'Sign in at /agent-sign-in')
  const [who, welcome] = await node('visit.ts')
  assert.match(who ?? '', new RegExp(`^${did} Agent .{6} C$`))
  assert.equal(welcome, `Welcome, ${did}`)

  assert.deepEqual(await node('verify.ts'), ['unsigned', '401'])
  const [challenge = ''] = await node('redis.ts')
  assert.ok(challenge.startsWith(`svc-challenge-v1:${shop}:`))
  const [known, unknown, grade] = await node('decide.ts', { DID: did })
  assert.deepEqual([known, unknown], ['full', 'deny'])
  assert.match(grade ?? '', /^C Verify .* true$/)
  const all = snippetsOf(join(ROOT, 'packages/sdk/README.md')).keys()
  assert.deepEqual([...ran, ...FRAMEWORK_SITES, 'enrol.ts', 'route.ts'].sort(), [...all].sort())
})

test('the workload of the README enrols by GitHub Actions, and ends its agent when it is stopped', async (t) => {
  const service = await startTestService(t)
  const { rule, tokenFor } = await newTestRule(service, { binding: 'key' })
  const github = await startSite(t, async (request, response) => {
    const audience = new URL(request.url ?? '', service.url).searchParams.get('audience')
    response.end(JSON.stringify({ value: await tokenFor(audience ?? '') }))
  })
  const dir = project(t, { 'https://id.example': service.url, 'er_…': rule.id })
  const env = {
    ...BASE_ENV,
    ACTIONS_ID_TOKEN_REQUEST_URL: github,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'bearer',
  }
  const workload = spawn(process.execPath, ['enrol.ts'], { cwd: dir, env, stdio: 'pipe' })
  t.after(() => workload.kill('SIGKILL'))
  const exited = once(workload, 'exit')
  const [did] = await once(workload.stdout, 'data')
  assert.match(String(did), DID)
  workload.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  const { verified } = await new Registry(service.url).lookup(String(did).trim())
  assert.equal(verified, false)
})

const FRAMEWORK_SITES = ['express-site.ts', 'fastify-site.ts', 'hono-site.ts']

/** An agent with a certificate of the service. */
async function agentOf(service: TestService): Promise<Agent> {
  const agent = new Agent({ registry: new Registry(service.url), signer: await newKey() })
  const owner = await service.operator.addVerifiedOwner()
  await agent.claim(await service.operator.issueToken(owner))
  return agent
}

test('an agent signs in at the sites of the README in Express, Fastify and Hono', async (t) => {
  const service = await startTestService(t)
  const agent = await agentOf(service)
  for (const file of FRAMEWORK_SITES) {
    const port = await freePort('127.0.0.1')
    const shop = `http://127.0.0.1:${port}`
    const dir = project(t, { 'https://id.example': service.url, 'https://shop.example': shop })
    const env = { ...process.env, PORT: String(port), SESSION_SECRET: 's'.repeat(32) }
    const site = spawn(process.execPath, [file], { cwd: dir, env })
    t.after(() => site.kill())
    while (!(await fetch(shop).catch(() => null))) await sleep(25)
    const { token } = await agent.signIn(`${shop}/agent-sign-in`)
    assert.ok(token.length > 0, file)
  }
})

test('an agent signs in at the route handler of the README for Next.js', async (t) => {
  const service = await startTestService(t)
  const agent = await agentOf(service)
  const box: { handle?: (request: Request) => Promise<Response> } = {}
  const shop = await startSite(t, (request, response) =>
    nodeListener(shop, (each) => box.handle?.(each) ?? new Response())(request, response),
  )
  const dir = project(t, { 'https://id.example': service.url, 'https://shop.example': shop })
  writeFileSync(
    join(dir, 'route.ts'),
    readFileSync(join(dir, 'route.ts'), 'utf8').replace(
      'process.env.SESSION_SECRET',
      `'${'s'.repeat(32)}'`,
    ),
  )
  const { GET, POST } = await import(pathToFileURL(join(dir, 'route.ts')).href)
  box.handle = (request) => (request.method === 'GET' ? GET : POST)(request)
  assert.ok((await agent.signIn(`${shop}/agent-sign-in`)).token.length > 0)
})

test('"sign in as an agent" takes a site ten lines', () => {
  const site = snippetsOf(join(ROOT, 'packages/sdk/README.md')).get('site.ts') ?? ''
  const lines = site.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('import'))
  assert.ok(lines.filter((line) => !/^(\/\/|})/.test(line)).length <= 10, site)
})

test('what the README says of the package is so', () => {
  const read = (path: string) => readFileSync(join(ROOT, 'packages/sdk', path), 'utf8')
  const { dependencies } = JSON.parse(read('package.json'))
  for (const name of Object.keys(dependencies)) assert.ok(read('README.md').includes(`\`${name}\``))
  assert.ok(Object.keys(dependencies).length <= 2)
})
