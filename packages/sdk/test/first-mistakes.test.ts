import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createAuthority } from '../../../test/support/certificates.ts'
import { startSite } from '../../../test/support/impostor.ts'
import { BASE_ENV, run } from '../../../test/support/run.ts'
import { ROOT, tempDir } from '../../../test/support/service.ts'
import { Agent } from '../src/agent.ts'
import { newKey } from '../src/keys/keys.ts'
import { Registry } from '../src/registry.ts'
import { failsWith } from './support/fails.ts'

const registry = new Registry('http://127.0.0.1:1')
const did = `svc:agent:${'z'.repeat(24)}`

/** What JavaScript lets through, whatever the types say. */
const untyped = (value: unknown) => value as never

test('a lookup of what is no text says what an agent is', async () => {
  for (const [agent, got] of [
    [undefined, 'undefined'],
    [null, 'null'],
    [7, 'number'],
    [{}, 'object'],
  ] as const) {
    const { message } = await failsWith('INVALID_ARGUMENT', () => registry.lookup(untyped(agent)))
    assert.match(message, /^Give an agent as a DID/)
    assert.ok(message.endsWith(`This is ${got}.`), message)
  }
})

test('an agent needs a registry and a key, and says how to get them', async () => {
  const signer = await newKey()
  for (const options of [{ registry: 'http://localhost:8080', signer }, { signer }, undefined]) {
    const { message } = await failsWith('INVALID_ARGUMENT', () => new Agent(untyped(options)))
    assert.match(message, /Registry\.discover\('https:/)
  }
  const { message } = await failsWith('INVALID_ARGUMENT', () => new Agent(untyped({ registry })))
  assert.match(message, /keyFromFile\(/)
})

test('a site that is no service, or has no sign-in, is called that', async (t) => {
  const page = { 'content-type': 'text/html' }
  const site = await startSite(t, ({ url }, response) => {
    response.writeHead(url === '/page' ? 200 : 404, page).end('<h1>A shop</h1>')
  })
  const discovered = await failsWith('PROTOCOL', Registry.discover(site))
  assert.match(discovered.message, /is no Countersign service.*Give the address of the service/)
  assert.equal(discovered.status, 404)
  const agent = new Agent({ registry, signer: await newKey(), did, audiences: [site] })
  for (const path of ['/agent-sign-in', '/page']) {
    const { message } = await failsWith('PROTOCOL', agent.signIn(site + path))
    assert.ok(message.startsWith(`${site}${path} is no sign-in endpoint for agents`), message)
    assert.match(message, /agent\.fetch/)
  }
  const relative = await failsWith('INVALID_ARGUMENT', () => agent.signIn('/agent-sign-in'))
  assert.match(relative.message, /Give all of it, such as https:/)
})

test('a site with a certificate of an own authority names NODE_EXTRA_CA_CERTS, which helps', async (t) => {
  const authority = await createAuthority('An authority of a company')
  const server = createServer(await authority.certify(['localhost']), (_, response) => {
    response.end('hello')
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  t.after(() => server.close().closeAllConnections())
  const site = `https://localhost:${(server.address() as AddressInfo).port}`
  const signer = await newKey()
  const agent = new Agent({ registry, signer, did, audiences: [site] })
  const once = new Registry(site, { retries: 0 })
  for (const attempt of [
    () => agent.fetch(site),
    () => once.lookup(did),
    () => Registry.discover(site, { retries: 0 }),
  ]) {
    const error = await failsWith('NETWORK', attempt)
    assert.match(error.message, /does not trust \([A-Z_]+\).*NODE_EXTRA_CA_CERTS=/)
    assert.equal(error.neverSent, true)
  }
  const dir = tempDir(t)
  writeFileSync(join(dir, 'ca.pem'), authority.certificate)
  const sdk = pathToFileURL(join(ROOT, 'packages/sdk/src/index.ts'))
  const program = `
    import { Agent, newKey, Registry } from '${sdk}'
    const registry = new Registry('http://127.0.0.1:1')
    const options = { registry, signer: await newKey(), did: '${did}', audiences: ['${site}'] }
    console.log(await (await new Agent(options).fetch('${site}')).text())`
  const args = ['--input-type=module', '--eval', program]
  const env = { ...BASE_ENV, NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') }
  const { stdout, stderr } = await run(process.execPath, args, env)
  assert.equal(stdout, 'hello\n', stderr)
})
