import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  addChannel,
  check,
  DOMAIN,
  newProver,
  proofField,
  publicView,
  startChannelFixture,
} from './support/channel-fixture.ts'

const FILE = '/.well-known/svc-challenge.txt'

suite('a domain proven by a file', () => {
  test('one line among others is enough, with any line endings', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const place = proofField(channel, 'file')
    assert.equal(place('Address'), `https://${DOMAIN}${FILE}`)
    fixture.site.serve(FILE, { body: `\ufeff# agents\r\n${place('Line')}\r\nmore\r\n` })
    const { state, seen } = await check(prover, channel)
    assert.equal(state, 'verified')
    assert.match(seen[0]?.detail ?? '', /^A line at https:/)
    assert.equal((await publicView(fixture, prover)).grade, 'A')
  })

  test('a server that gives the same response for every URL proves nothing', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const app = '<!doctype html><title>An app</title><div id="root"></div>'
    fixture.site.serve(FILE, { headers: { 'content-type': 'text/html' }, body: app })
    const page = await check(prover, channel)
    assert.equal(page.outcome, 'absent')
    assert.match(page.seen[0]?.detail ?? '', /hold no line such as/)

    fixture.site.serve(FILE, ({ method, url, headers }, response) => {
      response.end(
        `${method} ${url}\n${JSON.stringify(headers)}\n${Object.values(headers).join('\n')}`,
      )
    })
    assert.equal((await check(prover, channel)).outcome, 'absent', 'an echo')
    const token = /token=(\S+)/.exec(proofField(channel, 'file')('Line'))?.[1] as string
    const sent = JSON.stringify(fixture.site.requests)
    assert.ok(!sent.includes(token) && !sent.includes(prover.did), 'nothing is sent to be echoed')
  })

  test('only a 200 can prove; only 404 and 410 mean that the proof is absent', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const body = proofField(channel, 'file')('Line')
    for (const [status, outcome] of [
      [404, 'absent'],
      [410, 'absent'],
      [403, 'unreachable'],
      [429, 'unreachable'],
      [500, 'unreachable'],
      [203, 'unreachable'],
    ] as const) {
      fixture.site.serve(FILE, { status, body })
      const result = await check(prover, channel)
      assert.deepEqual([result.outcome, result.state], [outcome, 'pending'], String(status))
      assert.match(result.seen[0]?.detail ?? '', new RegExp(`answers ${status}\\.$`))
    }
  })

  test('redirects are followed only within the same host', async (t) => {
    const fixture = await startChannelFixture(t, { names: [DOMAIN, 'other.example.com'] })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const body = proofField(channel, 'file')('Line')
    fixture.site.serve('/placed.txt', { body })
    const toHost = (host: string) => ({
      status: 302,
      headers: { location: `https://${host}/placed.txt` },
    })

    fixture.site.serve(FILE, toHost('other.example.com'))
    const away = await check(prover, channel)
    assert.equal(away.outcome, 'unreachable')
    assert.match(away.seen[0]?.detail ?? '', /redirects to another host/)

    fixture.site.serve(FILE, toHost(DOMAIN))
    assert.equal((await check(prover, channel)).state, 'verified')
  })
})
