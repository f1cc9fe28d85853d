import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  addChannel,
  check,
  DOMAIN,
  listChannels,
  NAME,
  newProver,
  proofField,
  publicView,
  startChannelFixture,
} from './support/channel-fixture.ts'

const FILE = '/.well-known/svc-challenge.txt'

suite('a domain proven by DNS', () => {
  test('a TXT record placed as instructed raises the agent’s grade from C to A', async (t) => {
    const fixture = await startChannelFixture(t, { resolvers: 3 })
    const prover = await newProver(fixture)
    assert.deepEqual(await publicView(fixture, prover), { grade: 'C', channels: [] })

    const channel = await addChannel(prover, 'domain', ` HTTPS://${DOMAIN.toUpperCase()}/ `)
    assert.deepEqual(
      [channel.handleOrDomain, channel.state, channel.tier, channel.link],
      [DOMAIN, 'pending', 2, `https://${DOMAIN}/`],
    )
    const place = proofField(channel, 'dns')
    assert.equal(place('Type'), 'TXT')
    assert.equal(place('Name'), NAME)
    assert.match(
      place('Value'),
      new RegExp(
        `^token=[1-9A-HJ-NP-Za-km-z]{22} did=${prover.did} expiry=${channel.proof?.expiresAt}$`,
      ),
    )
    fixture.txt(place('Name'), 'v=spf1 -all', place('Value'))

    const { state, outcome, seen } = await check(prover, channel)

    assert.deepEqual([state, outcome], ['verified', 'proven'])
    assert.deepEqual(
      seen.map(({ name }) => name),
      fixture.dns.map(({ address }) => address),
    )
    for (const { detail } of seen) {
      assert.equal(detail, `A TXT record at ${NAME} holds the token of this channel.`)
    }
    assert.equal(fixture.site.requests.length, 0, 'the file is not asked for')
    const [listed] = await listChannels(prover)
    assert.deepEqual([listed?.state, listed?.proof], ['verified', null])
    const seenByAll = await publicView(fixture, prover)
    assert.deepEqual(seenByAll, { grade: 'A', channels: [`domain ${DOMAIN}`] })
  })

  test('the strings of a TXT record are joined', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const line = proofField(channel, 'dns')('Value')
    fixture.txt(NAME, [line.slice(0, 9), line.slice(9, 40), line.slice(40)])
    assert.equal((await check(prover, channel)).state, 'verified')
  })

  test('a CNAME at the name of the record is followed', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    fixture.dns[0]?.set(NAME, 'CNAME', ['agents.verify.example.net'])
    assert.equal((await check(prover, channel)).outcome, 'absent')
    fixture.txt('agents.verify.example.net', proofField(channel, 'dns')('Value'))
    assert.equal((await check(prover, channel)).state, 'verified')
  })

  test('a wildcard that answers for every name proves nothing', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    fixture.txt(`*.${DOMAIN}`, 'v=spf1 -all', 'token did expiry', '')
    const { outcome, seen } = await check(prover, channel)
    assert.equal(outcome, 'absent')
    assert.match(seen[0]?.detail ?? '', /The TXT records at .* hold no line such as token=/)
  })

  test('an unreachable DNS changes nothing, and an absent proof is reported as absent', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const [dns] = fixture.dns

    const nowhere = await check(prover, channel)
    assert.deepEqual([nowhere.state, nowhere.outcome], ['pending', 'absent'])
    assert.equal(
      nowhere.seen[0]?.detail,
      `${NAME} does not exist in the DNS. https://${DOMAIN}${FILE} answers 404.`,
    )
    fixture.txt(NAME)
    assert.match((await check(prover, channel)).seen[0]?.detail ?? '', /has no TXT record/)
    for (const [failure, words] of [
      ['SERVFAIL', /SERVFAIL/],
      ['REFUSED', /REFUSED/],
      ['silence', /does not answer in time/],
    ] as const) {
      dns?.fail(NAME, failure)
      const { outcome, seen } = await check(prover, channel)
      assert.equal(outcome, 'unreachable', failure)
      assert.match(seen[0]?.detail ?? '', words)
    }
    dns?.fail(NAME, null)
    dns?.set(DOMAIN, 'A', [])
    assert.equal((await check(prover, channel)).outcome, 'absent', 'no web server either')
  })

  test('the file is enough if the DNS fails', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    fixture.dns[0]?.fail(NAME, 'SERVFAIL')
    fixture.site.serve(FILE, { body: proofField(channel, 'file')('Line') })
    assert.equal((await check(prover, channel)).state, 'verified')
  })
})

suite('a domain checked from several perspectives', () => {
  test('more than half must find the proof', async (t) => {
    const fixture = await startChannelFixture(t, { resolvers: 3 })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const line = proofField(channel, 'dns')('Value')
    const [first, second, third] = fixture.dns

    first?.set(NAME, 'TXT', [line])
    const liar = await check(prover, channel)
    assert.deepEqual([liar.state, liar.outcome], ['pending', 'absent'])
    assert.deepEqual(
      liar.seen.map(({ outcome }) => outcome),
      ['proven', 'absent', 'absent'],
    )

    second?.fail('*', 'SERVFAIL')
    third?.fail('*', 'SERVFAIL')
    const alone = await check(prover, channel)
    assert.deepEqual([alone.state, alone.outcome], ['pending', 'unreachable'])

    second?.fail('*', null)
    second?.set(NAME, 'TXT', [line])
    const two = await check(prover, channel)
    assert.deepEqual([two.state, two.outcome], ['verified', 'proven'])
    assert.deepEqual(
      two.seen.map(({ outcome }) => outcome),
      ['proven', 'proven', 'unreachable'],
    )
  })

  test('each resolves the web server with its own resolver', async (t) => {
    const fixture = await startChannelFixture(t, { resolvers: 3 })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    fixture.site.serve(FILE, { body: proofField(channel, 'file')('Line') })
    fixture.dns[1]?.set(DOMAIN, 'A', ['203.0.113.9'])
    const { state, seen } = await check(prover, channel)
    assert.equal(state, 'verified')
    assert.deepEqual(
      seen.map(({ outcome }) => outcome),
      ['proven', 'unreachable', 'proven'],
    )
    assert.match(seen[1]?.detail ?? '', /resolves to an address that is not a loopback address/)
  })
})
