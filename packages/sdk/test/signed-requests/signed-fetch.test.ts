import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { SignatureResult } from '@countersign/protocol'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import { type CertifiedAgent, certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'
import { type ReceivedRequest, rawRequestOf, startVerifyingSite } from '../support/signed-site.ts'

const cleanup = fileCleanup()
let service: TestService
let certified: CertifiedAgent

before(async () => {
  service = await startTestService(cleanup)
  certified = await certifiedAgent(service)
})

const agentFor = (...audiences: string[]) => {
  const { key, did } = certified
  return new Agent({ registry: registryOf(service), signer: key, did, audiences })
}

const resultOf = async (response: Response) => (await response.json()) as SignatureResult

const headersOf = ({ headers }: ReceivedRequest) =>
  headers.map(([name]) => name.toLowerCase()).filter((name) => /^(signature|serviceid)/.test(name))

test('fetch proves the key to a site: any method, body and query', async (t) => {
  const { site, received } = await startVerifyingSite(t, registryOf(service))
  const { fetch } = agentFor(site)
  const json = { 'content-type': 'application/json' }
  const stream = new Blob(['a stream']).stream()
  const requests: [string, RequestInit?][] = [
    ['/'],
    ['/a b/%41?q=a b&c="x"#fragment'],
    ['/orders?'],
    ['/orders?#'],
    ['//double'],
    ['/../up'],
    ['/', { method: 'POST', body: '{"item":1}', headers: { ...json, authorization: 'Bearer t' } }],
    ['/', { method: 'POST' }],
    ['/', { method: 'PUT', body: new URLSearchParams({ a: 'b' }) }],
    ['/', { method: 'DELETE', headers: { 'idempotency-key': 'k' } }],
    ['/', { method: 'POST', body: stream, duplex: 'half' } as RequestInit],
  ]
  for (const [path, init] of requests) {
    const response = await fetch(site + path, init)
    const result = await resultOf(response)
    assert.equal(result.reason, null, path)
    assert.equal(result.did, certified.did)
    assert.deepEqual([result.verdict, result.replay], ['verified', 'checked'])
    assert.equal(result.digest, /POST|PUT/.test(init?.method ?? '') ? 'checked' : 'none')
  }
  const identified = received.every((each) => headersOf(each).includes('serviceid'))
  assert.ok(identified)
  assert.equal(Buffer.from(received.at(-1)?.body ?? []).toString(), 'a stream')
})

test('a captured request is refused the second time, and on any change', async (t) => {
  const { site, received } = await startVerifyingSite(t, registryOf(service))
  const body = 'amount=1'
  const accepted = await agentFor(site).fetch(`${site}/pay?to=a`, { method: 'POST', body })
  assert.equal(accepted.status, 200)
  const [captured] = received
  assert.ok(captured)
  const headers = captured.headers.filter(
    ([name]) => !/^(host|connection|content-length|accept-encoding|sec-)/i.test(name),
  )
  const replay = async (path: string, init: RequestInit) => {
    const response = await fetch(site + path, {
      headers: headers.map(([name, value]): [string, string] => [name, value]),
      ...init,
    })
    return (await resultOf(response)).reason
  }
  assert.equal(await replay('/pay?to=a', { method: 'POST', body }), 'replay')
  assert.equal(await replay('/pay?to=a', { method: 'POST', body: 'amount=9' }), 'replay')
  assert.equal(await replay('/pay?to=b', { method: 'POST', body }), 'bad-signature')
  assert.equal(await replay('/paid?to=a', { method: 'POST', body }), 'bad-signature')
  assert.equal(await replay('/pay?to=a', { method: 'PUT', body }), 'bad-signature')
})

test('a request to another origin is refused with the way to add it, and nothing is sent', async (t) => {
  const { site, received } = await startVerifyingSite(t, registryOf(service))
  for (const agent of [agentFor('https://shop.example'), agentFor()]) {
    const error = await failsWith('WRONG_AUDIENCE', agent.fetch(site, { method: 'POST' }))
    assert.ok(error.message.includes(`audiences: ['${site}']`), error.message)
    assert.match(error.message, /unlisted: 'plain'/)
  }
  assert.deepEqual(received, [])
})

test("with unlisted: 'plain', other origins get neither a signature nor the identification header", async (t) => {
  const { site, received } = await startVerifyingSite(t, registryOf(service))
  const { key, did } = certified
  const options = { registry: registryOf(service), signer: key, did, unlisted: 'plain' } as const
  const agent = new Agent({ ...options, audiences: ['https://shop.example'] })
  for (const headers of [{}, { ServiceID: certified.did }]) {
    const response = await agent.fetch(site, { headers })
    assert.equal((await resultOf(response)).reason, 'unsigned')
  }
  assert.deepEqual(received.map(headersOf), [[], []])
  const error = await failsWith('WRONG_AUDIENCE', agent.sign(site))
  assert.match(error.message, /audiences/)
  await failsWith('WRONG_AUDIENCE', agent.sign('https://shop.example.evil.example/'))
  await failsWith('WRONG_AUDIENCE', agent.sign('https://shop.example:8443/'))
})

test('audiences are https origins, or on loopback; some dialects need an address', async () => {
  for (const audience of ['http://shop.example', 'ftp://shop.example', 'shop.example', '']) {
    await failsWith('INVALID_ARGUMENT', () => agentFor(audience))
  }
  const { key, did } = certified
  const options = { registry: registryOf(service), signer: key, did }
  for (const dialect of ['legacy', 'origin'] as const) {
    const origin = 'https://shop.example'
    const audiences = [{ origin, dialect }]
    await failsWith('INVALID_ARGUMENT', () => new Agent({ ...options, audiences }))
    const named = [{ origin, dialect, signatureAgent: 'https://agent.example/x' }]
    const signed = await new Agent({ ...options, audiences: named }).sign(origin)
    const field = dialect === 'legacy' ? '"https://agent.example"' : 'sig1="https://agent.example"'
    assert.equal(signed.headers.get('signature-agent'), field)
  }
})

test('an address that is not absolute is refused in words', async () => {
  const agent = agentFor('https://shop.example')
  for (const address of ['/orders', 'orders', '', '//shop.example']) {
    const error = await failsWith('INVALID_ARGUMENT', agent.fetch(address))
    assert.match(error.message, /not absolute.*https:/)
  }
})

test('what is signed already, or too large, is not signed', async () => {
  const agent = agentFor('https://shop.example')
  for (const name of ['Signature', 'signature-input', 'SIGNATURE-AGENT']) {
    const headers = { [name]: 'sig1=:AAAA:' }
    await failsWith('INVALID_ARGUMENT', agent.sign('https://shop.example', { headers }))
    await failsWith('INVALID_ARGUMENT', agent.fetch('https://shop.example', { headers }))
  }
  const largest = new Uint8Array(10 * 1024 * 1024)
  const signed = await agent.sign('https://shop.example', { method: 'POST', body: largest })
  assert.equal((await signed.arrayBuffer()).byteLength, largest.length)
  const body = new Uint8Array(largest.length + 1)
  await failsWith('INVALID_ARGUMENT', agent.sign('https://shop.example', { method: 'POST', body }))
  const unclaimed = new Agent({
    registry: registryOf(service),
    signer: await newKey(),
    audiences: ['https://shop.example'],
  })
  await failsWith('NO_DID', unclaimed.sign('https://shop.example'))
})

test('redirects within the origin are signed anew; any other fails, and nothing reaches the other origin', async (t) => {
  const { site, received } = await startVerifyingSite(t, registryOf(service))
  const elsewhere: ReceivedRequest[] = []
  const other = await startSite(t, async (request, response) => {
    elsewhere.push(await rawRequestOf(request))
    response.end()
  })
  const { fetch } = agentFor(site, other)
  const moved = await fetch(`${site}/to?${encodeURIComponent('/next?a=1')}`, {
    method: 'POST',
    body: 'hello',
  })
  const result = await resultOf(moved)
  assert.deepEqual([result.verdict, result.digest], ['verified', 'checked'])
  assert.equal(received.at(-1)?.target, '/next?a=1')
  assert.equal(Buffer.from(received.at(-1)?.body ?? []).toString(), 'hello')
  const seeOther = await fetch(`${site}/see-other?/done`, { method: 'POST', body: 'hello' })
  assert.equal((await resultOf(seeOther)).verdict, 'verified')
  assert.deepEqual([received.at(-1)?.method, received.at(-1)?.body.length], ['GET', 0])

  const away = `${site}/to?${encodeURIComponent(`${other}/steal`)}`
  await failsWith('REDIRECT', fetch(away, { method: 'POST', body: 'secret' }))
  await failsWith('REDIRECT', fetch(`${site}/to?${encodeURIComponent('//evil.example/')}`))
  await failsWith('REDIRECT', fetch(`${site}/to?/next`, { redirect: 'error' }))
  const loop = `/to?${encodeURIComponent('/to?/')}`
  assert.equal((await fetch(site + loop, { redirect: 'manual' })).status, 307)
  assert.deepEqual(elsewhere, [])
})

test('endless redirects end', async (t) => {
  let hops = 0
  const site = await startSite(t, (_, response) => {
    hops += 1
    response.writeHead(302, { location: '/again' }).end()
  })
  await failsWith('REDIRECT', agentFor(site).fetch(site))
  assert.equal(hops, 21)
})

test('after a change of the key, one 401 is answered by signing again', async (t) => {
  const seen: string[] = []
  let accepts = false
  const site = await startSite(t, async (request, response) => {
    const { headers } = await rawRequestOf(request)
    seen.push(/keyid="(.*?)"/.exec(String(headers.map(String)))?.[1] ?? '')
    response.writeHead(accepts ? 200 : 401).end()
    accepts = true
  })
  const agent = agentFor(site)
  assert.equal((await agent.fetch(site)).status, 401)
  accepts = false
  const next = await newKey()
  agent.useKey(next)
  assert.equal((await agent.fetch(site, { method: 'POST', body: 'once' })).status, 200)
  accepts = false
  assert.equal((await agent.fetch(site)).status, 401)
  assert.equal(seen.length, 4)
  assert.deepEqual([seen[1], seen[1]], [seen[2], seen[3]])
  assert.notEqual(seen[0], seen[1])
})

test('a signature by a signer of another key is found out', async () => {
  const { key, did } = certified
  const wrong = await newKey()
  const signer = { publicKey: key.publicKey, sign: wrong.sign }
  const audiences = ['https://shop.example']
  const agent = new Agent({ registry: registryOf(service), signer, did, audiences })
  await failsWith('UNUSABLE_KEY', agent.sign('https://shop.example'))
})
