import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { startHttpsSite } from '../../../../../test/support/https-site.ts'
import { openTestPerspective, startCanary } from './test-perspective.ts'

const HOST = 'agents.example.com'
const OTHER = 'other.example.com'

async function redirecting(t: TestContext) {
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, [HOST])
  const other = await startHttpsSite(t, [OTHER])
  for (const name of [HOST, OTHER]) dns.set(name, 'A', ['127.0.0.1'])
  other.serve('/', { body: 'elsewhere' })
  site.serve('/end', { body: 'the end' })
  const loopbackHosts = new Map([
    [HOST, site.port],
    [OTHER, other.port],
  ])
  const canary = await startCanary(t)
  const { get } = openTestPerspective(t, dns, { loopbackHosts, port: canary.port })
  const redirect = (path: string, location: string, status = 302) =>
    site.serve(path, {
      status,
      headers: { location, 'set-cookie': 'seen=before; Path=/' },
      body: 'This way, please.',
    })
  return { dns, site, other, canary, redirect, get }
}

test('redirects within the host are followed, relative or absolute, at most three', async (t) => {
  const { dns, site, redirect, get } = await redirecting(t)
  redirect('/1', '/2', 301)
  redirect('/2', `https://${HOST}/3`, 307)
  redirect('/3', 'end', 308)
  const answer = await get(`https://${HOST}/1`)
  assert.ok('found' in answer)
  assert.equal(answer.found.text, 'the end')
  assert.equal(dns.asked(HOST, 'A'), 4, 'every hop checks the address anew')
  assert.equal(site.connections, 4)
  for (const { headers } of site.requests) {
    assert.deepEqual([headers.referer, headers.cookie], [undefined, undefined])
  }

  redirect('/0', '/1')
  const tooMany = await get(`https://${HOST}/0`)
  assert.deepEqual(tooMany, {
    error: 'Unreachable',
    message: `${HOST} redirects more than 3 times.`,
  })
})

test('a redirect loop ends', async (t) => {
  const { site, redirect, get } = await redirecting(t)
  redirect('/round', '/round')
  const answer = await get(`https://${HOST}/round`)
  assert.ok('error' in answer && answer.error === 'Unreachable')
  assert.equal(site.requests.length, 4)
})

test('the body of a redirect is not read, even if it is endless', async (t) => {
  const { site, get } = await redirecting(t)
  const left: Promise<unknown>[] = []
  site.serve('/', (_request, response) => {
    response.writeHead(302, { location: '/end' })
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(4096)));
    }
    response.on('drain', more)
    left.push(once(response, 'close'))
    more()
  })
  const answer = await get(`https://${HOST}/`)
  assert.ok('found' in answer)
  assert.equal(answer.found.text, 'the end')
  await Promise.all(left)
})

test('redirects to another host, an address, plain http or another port are rejected', async (t) => {
  const { other, canary, redirect, get } = await redirecting(t)
  for (const location of [
    ...[`https://${OTHER}/`, `//${OTHER}/`, `https://x.${HOST}/`, 'https://example.com/'],
    ...[
      `https://127.0.0.1:${canary.port}/`,
      'https://127.0.0.1/',
      'https://[::1]/',
      '//localhost/',
    ],
    ...[`http://${HOST}:${canary.port}/`, `http://${HOST}/end`, `https://${HOST}:${canary.port}/`],
    ...[`https://user@${HOST}/end`, `https://:secret@${HOST}/end`, `https://${HOST}./end`],
    ...['https://', 'file:///etc/passwd', 'data:text/plain,hello', `ftp://${HOST}/`],
  ]) {
    redirect('/', location)
    const answer = await get(`https://${HOST}/`)
    assert.ok('error' in answer && answer.error === 'Unreachable', location)
    assert.ok(!answer.message.includes('secret'), answer.message)
  }
  assert.equal(other.requests.length, 0)
  assert.equal(canary.connections, 0)
})

test('a redirect is not followed if the host now resolves to an address that is not public', async (t) => {
  const { dns, site, redirect, get } = await redirecting(t)
  dns.setInTurn(HOST, 'A', [['127.0.0.1'], ['10.0.0.1']])
  redirect('/', '/end')
  const answer = await get(`https://${HOST}/`)
  assert.ok('error' in answer && answer.error === 'Unreachable')
  assert.equal(site.requests.length, 1)
})

test('only https URLs on port 443 without credentials are fetched', async (t) => {
  const { site, canary, get } = await redirecting(t)
  for (const url of [
    ...[`http://${HOST}/end`, `https://${HOST}:8443/`, `https://${HOST}:${canary.port}/`],
    ...[`https://user@${HOST}/end`, `https://user:secret@${HOST}/end`, `ftp://${HOST}/`],
    ...['https://example/', 'https://com./', `https://${HOST}./end`, 'data:text/plain,hello'],
  ]) {
    const answer = await get(url)
    assert.ok('error' in answer && answer.error === 'Unreachable', url)
    assert.ok(!answer.message.includes('secret'), answer.message)
  }
  assert.equal(site.connections, 0)
  assert.equal(canary.connections, 0)
  assert.ok('found' in (await get(`https://${HOST}:443/end`)))
})
