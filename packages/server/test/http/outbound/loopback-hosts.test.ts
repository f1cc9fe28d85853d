import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { outsideEnv, startHttpsSite } from '../../../../../test/support/https-site.ts'
import { readSettings } from '../../../src/base/config.ts'
import { openPerspectives } from '../../../src/http/outbound/fetch-page.ts'
import { openTestPerspective, outcomeOf, startCanary } from './test-perspective.ts'

const HOST = 'agents.example.com'

test('a host in LOOPBACK_HOSTS is reached on loopback under its own name', async (t) => {
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, [HOST])
  site.serve('/card.json', {
    body: '\ufeff{"grüße": 1}',
    headers: { 'content-type': 'Application/JSON; charset=utf-8' },
  })
  const perspectives = openPerspectives(
    readSettings(outsideEnv([dns], [site])),
    'Countersign/1.2.3 (+http://localhost:8080)',
  )
  t.after(() => perspectives.close())
  const [view] = perspectives.all
  assert.deepEqual(await view?.get(new URL(`https://${HOST}/card.json?x=1#y`), 'text/plain'), {
    status: 200,
    mediaType: 'application/json',
    text: '{"grüße": 1}',
  })
  const [request, ...more] = site.requests
  assert.deepEqual(more, [])
  assert.equal(request?.method, 'GET')
  assert.equal(request?.url, '/card.json?x=1')
  assert.deepEqual(
    { ...request?.headers, connection: undefined },
    {
      host: HOST,
      accept: 'text/plain',
      'accept-encoding': 'identity',
      'user-agent': 'Countersign/1.2.3 (+http://localhost:8080)',
      connection: undefined,
    },
  )
})

test('a page with any status is a page', async (t) => {
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, [HOST])
  dns.set(HOST, 'A', ['127.0.0.1'])
  const { get } = openTestPerspective(t, dns, { loopbackHosts: new Map([[HOST, site.port]]) })
  for (const status of [204, 304, 404, 410, 500]) {
    site.serve('/', (_request, response) => response.writeHead(status).end())
    const answer = await get(`https://${HOST}/`)
    assert.deepEqual(answer, { found: { status, mediaType: '', text: '' } })
  }
})

test('proxies configured in the environment are not used', async (t) => {
  const dns = await startDnsServer(t)
  const canary = await startCanary(t)
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']) {
    process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${canary.port}`
    t.after(() => delete process.env[name])
  }
  const site = await startHttpsSite(t, [HOST])
  site.serve('/', { body: 'hello' })
  const perspectives = openPerspectives(readSettings(outsideEnv([dns], [site])))
  t.after(() => perspectives.close())
  const page = await perspectives.all[0]?.get(new URL(`https://${HOST}/`), 'text/plain')
  assert.equal(page?.text, 'hello')
  assert.equal(canary.connections, 0)
})

test('only hosts in LOOPBACK_HOSTS may resolve to loopback', async (t) => {
  const dns = await startDnsServer(t)
  const canary = await startCanary(t)
  for (const name of [`x.${HOST}`, 'other.example.com', 'example.com']) {
    dns.set(name, 'A', ['127.0.0.1'])
    const { get } = openTestPerspective(t, dns, {
      loopbackHosts: new Map([[HOST, canary.port]]),
      port: canary.port,
    })
    const answer = await get(`https://${name}/`)
    assert.ok('error' in answer && answer.error === 'Unreachable', name)
  }
  assert.equal(canary.connections, 0)
})

test('hosts in LOOPBACK_HOSTS may resolve to nothing but loopback', async (t) => {
  const dns = await startDnsServer(t)
  const canary = await startCanary(t)
  const { get } = openTestPerspective(t, dns, { loopbackHosts: new Map([[HOST, canary.port]]) })
  for (const address of ['10.0.0.1', '0.0.0.0', '169.254.169.254', '1.1.1.1']) {
    dns.set(HOST, 'A', ['127.0.0.1', address])
    assert.deepEqual(await get(`https://${HOST}/`), {
      error: 'Unreachable',
      message: `${HOST} resolves to an address that is not a loopback address.`,
    })
  }
  assert.equal(canary.connections, 0)
})

test('each resolver is a separate perspective, and closing aborts requests in progress', async (t) => {
  const servers = await Promise.all([startDnsServer(t), startDnsServer(t), startDnsServer(t)])
  const [one, two, three] = servers
  one.set('x.example.com', 'TXT', ['one'])
  two.set('x.example.com', 'TXT', ['two'])
  three.fail('*', 'silence')
  const settings = readSettings(outsideEnv(servers))
  const perspectives = openPerspectives(settings)
  t.after(() => perspectives.close())
  assert.deepEqual(
    perspectives.all.map(({ name }) => name),
    settings.dnsResolvers,
  )
  const [first, second, third] = perspectives.all
  assert.deepEqual(await first?.txt('x.example.com'), ['one'])
  assert.deepEqual(await second?.txt('x.example.com'), ['two'])

  const waiting = [
    outcomeOf(Promise.resolve(third?.txt('x.example.com'))),
    outcomeOf(Promise.resolve(third?.get(new URL('https://x.example.com/'), 'text/plain'))),
  ]
  await perspectives.close()
  for (const each of await Promise.all(waiting)) {
    assert.ok('error' in each && each.error === 'Unreachable')
    assert.match(each.message, /was cancelled\.$/)
  }
})
