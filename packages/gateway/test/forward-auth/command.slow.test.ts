import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, agentSignIn, newKey, Registry } from '@countersign/sdk'
import { startImpostor } from '../../../../test/support/impostor.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import { claimAgent, startTestService, tempDir } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { runGatewayCommand, startGateway } from '../support/gateway-process.ts'

const QUESTION = {
  'x-forwarded-method': 'GET',
  'x-forwarded-uri': '/x',
  'x-forwarded-for': '192.0.2.1',
}
const DID = `svc:agent:${'A'.repeat(24)}`

function ask(url: string, headers: Readonly<Record<string, string>> = {}) {
  return fetch(`${url}/auth/forward`, { headers: { ...QUESTION, ...headers } })
}

test('an invalid file is refused with a list of every mistake', async (t) => {
  const file = join(tempDir(t), 'gateway.json')
  writeFileSync(
    file,
    JSON.stringify({
      port: -1,
      naming: {},
      logLevel: 'loud',
      idHeader: 'No good',
      policy: { mode: 'off', deny: ['x'] },
    }),
  )
  const { code, stderr } = await runGatewayCommand('--config', file)
  assert.equal(code, 2)
  for (const each of [
    'file.naming is unknown',
    'port must be',
    'logLevel must be',
    'policy.mode must be',
    'policy.deny[0] must be',
    'identification header',
    'The address of the service must be http or https',
  ]) {
    assert.ok(stderr.includes(each), `${each}: ${stderr}`)
  }
})

test('invalid JSON, a missing file and wrong arguments are refused with exit code 2', async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'gateway.json')
  writeFileSync(file, '{"service": ')
  assert.match((await runGatewayCommand('--config', file)).stderr, /the file is not JSON/)
  for (const args of [
    ['--config', join(dir, 'none.json')],
    [],
    ['--policy', 'x'],
    ['--config', file, 'more'],
  ]) {
    const { code, stdout } = await runGatewayCommand(...args)
    assert.deepEqual([code, stdout], [2, ''])
  }
  const { code, stdout } = await runGatewayCommand('--help')
  assert.equal(code, 0)
  assert.match(stdout, /countersign-gateway --config gateway.json/)
})

test('--check validates the file without starting a server, and the example is valid', async (t) => {
  const example = join(import.meta.dirname, '../../../../deploy/gateway.json')
  const { code, stdout } = await runGatewayCommand('--check', '--config', example)
  assert.equal(code, 0)
  assert.match(stdout, /is valid/)
  const file = join(tempDir(t), 'gateway.json')
  writeFileSync(file, JSON.stringify({ service: 'https://id.example', policy: { mood: 'good' } }))
  assert.equal((await runGatewayCommand('--check', '--config', file)).code, 2)
  // Nobody can prove anything without audiences, so these routes would refuse everybody.
  const routes = [{ path: '/a' }, { path: '/b', requireProof: true }]
  writeFileSync(file, JSON.stringify({ service: 'https://id.example', policy: { routes } }))
  const { code: unproven, stderr } = await runGatewayCommand('--check', '--config', file)
  assert.equal(unproven, 2)
  assert.match(stderr, /^- policy\.routes\[1\]\.requireProof requires audiences$/m)
})

test('the session secret comes from the environment, and a session is accepted as proof', async (t) => {
  const service = await startTestService(t)
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const [audience, secret] = ['https://shop.example', 's'.repeat(32)]
  const signIn = agentSignIn({ registry, audience, secret })
  const agent = new Agent({ registry, signer: await newKey() })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  const { token } = await signIn.complete(await agent.answer(await signIn.begin(), { audience }))
  const settings = {
    service: service.url,
    audiences: ['https://other.example', audience],
    sessionSecretVariable: 'SECRET',
    policy: { requireProof: true },
  }
  const { url, logged } = await startGateway(t, settings, { SECRET: secret })
  assert.equal((await ask(url, { ServiceID: did })).status, 401)
  const authorization = `Bearer ${token}`
  const at = (host: string) => ({ 'x-forwarded-host': host, 'x-forwarded-proto': 'https' })
  assert.equal((await ask(url, { authorization, ...at('shop.example') })).status, 200)
  assert.equal((await ask(url, { authorization, ...at('other.example') })).status, 401)
  assert.equal((await logged(({ action }) => action === 'allow')).proofOfPossession, true)
  const file = join(tempDir(t), 'gateway.json')
  writeFileSync(file, JSON.stringify(settings))
  assert.match(
    (await runGatewayCommand('--config', file)).stderr,
    /the environment variable SECRET is not set/,
  )
})

test('a port in use ends the command with exit code 1', async (t) => {
  const { port } = await startGateway(t, { service: 'https://id.example' })
  const file = join(tempDir(t), 'gateway.json')
  writeFileSync(file, JSON.stringify({ service: 'https://id.example', port }))
  const { code, stderr } = await runGatewayCommand('--config', file)
  assert.equal(code, 1)
  assert.match(stderr, /EADDRINUSE/)
})

test('a changed file is loaded at SIGHUP or by polling, and an invalid file is logged and ignored', async (t) => {
  const gateway = await startGateway(t, {
    service: 'http://127.0.0.1:1',
    policy: { levels: { none: 'deny' } },
  })
  const write = (text: string) => {
    // Editors and orchestrators replace the file instead of writing to it.
    writeFileSync(`${gateway.file}.new`, text)
    renameSync(`${gateway.file}.new`, gateway.file)
  }
  const withNone = (none: string) =>
    JSON.stringify({
      service: 'http://127.0.0.1:1',
      port: 0,
      policy: { levels: { none } },
    })
  assert.equal((await ask(gateway.url)).status, 401)
  write(withNone('allow'))
  await gateway.logged(({ event }) => event === 'reloaded')
  assert.equal((await ask(gateway.url)).status, 200)
  write(withNone('maybe'))
  gateway.child.kill('SIGHUP')
  const refused = await gateway.logged(({ event }) => event === 'reload-refused')
  assert.deepEqual(
    [refused.level, refused.mistakes],
    ['error', ['policy.levels.none must be `allow`, `limit` or `deny`']],
  )
  assert.equal((await ask(gateway.url)).status, 200)
  write(withNone('deny'))
  gateway.child.kill('SIGHUP')
  await gateway.logged(
    ({ event }) =>
      event === 'reloaded' &&
      gateway.logs().filter((line) => line.event === 'reloaded').length >= 2,
  )
  assert.equal((await ask(gateway.url)).status, 401)
  const counted = await (await fetch(`${gateway.url}/metrics`)).text()
  // Polling and the signal may both load the same change, and each load is counted.
  for (const [result, event] of Object.entries({ loaded: 'reloaded', refused: 'reload-refused' })) {
    const times = gateway.logs().filter((line) => line.event === event).length
    assert.ok(counted.includes(`reloads_total{result="${result}"} ${times}\n`), counted)
  }
})

test('no request fails while the policy is reloaded, and the cache is kept', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const settings = { service: service.url, policy: { unreachable: 'stale', cacheSeconds: 0 } }
  const gateway = await startGateway(t, settings)
  const write = (maxStaleSeconds: number) =>
    writeFileSync(
      gateway.file,
      JSON.stringify({
        ...settings,
        port: 0,
        policy: { ...settings.policy, maxStaleSeconds },
      }),
    )
  let running = true
  const statuses: number[] = []
  const client = async () => {
    while (running) statuses.push((await ask(gateway.url, { ServiceID: did })).status)
  }
  const clients = [client(), client(), client(), client()]
  const reloads = () => gateway.logs().filter(({ event }) => event === 'reloaded').length
  for (let i = 1; i <= 5; i++) {
    write(1000 + i)
    gateway.child.kill('SIGHUP')
    const before = statuses.length
    await until(async () => reloads() >= i && statuses.length >= before + 8)
  }
  running = false
  await Promise.all(clients)
  assert.ok(
    statuses.every((status) => status === 200),
    String(statuses),
  )
  // The service stops. Answers from before the last reload are still used.
  await service.stop()
  write(2000)
  gateway.child.kill('SIGHUP')
  await until(async () => reloads() >= 6)
  assert.equal((await ask(gateway.url, { ServiceID: did })).status, 200)
  assert.equal((await gateway.logged(({ source }) => source === 'stale')).action, 'allow')
})

test('SIGTERM: pending requests are answered, then the command ends with exit code 0', async (t) => {
  const service = await startImpostor(t, { instead: 'hang' })
  const settings = {
    service: service.url,
    timeoutMs: 6000,
    drainSeconds: 3,
    policy: { unreachable: 'flag' },
  }
  const gateway = await startGateway(t, settings)
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const open = (path: string) =>
    new Promise<{ status: number; connection: string | undefined }>((resolve, reject) => {
      httpRequest(gateway.url + path, { agent }, (response) => {
        response.resume()
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, connection: response.headers.connection }),
        )
      })
        .once('error', reject)
        .end()
    })
  assert.equal((await open('/readyz')).connection, 'keep-alive')
  const waiting = [DID, DID.replaceAll('A', 'B'), DID.replaceAll('A', 'C')].map((did) =>
    ask(gateway.url, { ServiceID: did }),
  )
  await service.untilAsked(3)
  const ended = gateway.stop('SIGTERM')
  await gateway.logged(({ event }) => event === 'ending')
  // It keeps answering until proxies have noticed, and asks them to close their connections.
  assert.deepEqual(await open('/readyz'), { status: 503, connection: 'close' })
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200)
  assert.equal(await ended, 0)
  await assert.rejects(fetch(gateway.url))
})

test('logLevel selects the lines that are written, and a reload changes it', async (t) => {
  const settings = { service: 'http://127.0.0.1:1', policy: { levels: { none: 'allow' } } }
  const gateway = await startGateway(t, settings)
  writeFileSync(gateway.file, JSON.stringify({ ...settings, port: 0, logLevel: 'warn' }))
  gateway.child.kill('SIGHUP')
  const metrics = async () => (await fetch(`${gateway.url}/metrics`)).text()
  await until(async () => /result="loaded"\} [1-9]/.test(await metrics()))
  const before = gateway.logs().length
  await ask(gateway.url)
  await ask(gateway.url, { ServiceID: 'nonsense' })
  await gateway.logged(({ level }) => level === 'warn')
  const after = gateway.logs().slice(before)
  assert.deepEqual(
    after.map(({ action }) => action),
    ['deny'],
  )
})
