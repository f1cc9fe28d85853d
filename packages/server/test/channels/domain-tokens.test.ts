import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import {
  addChannel,
  check,
  DOMAIN,
  listChannels,
  NAME,
  newAgentOf,
  newProver,
  postAction,
  postChannel,
  proofField,
  publicView,
  runAction,
  signInAgain,
  startChannelFixture,
} from './support/channel-fixture.ts'

const FILE = '/.well-known/svc-challenge.txt'
const DAY_MS = 86_400_000

suite('the agent and the expiry of a token', () => {
  test('a record can hold a line for each of several agents', async (t) => {
    const fixture = await startChannelFixture(t)
    const one = await newProver(fixture)
    const two = await newAgentOf(fixture, one.owner.ownerId, 'second')
    const [first, second] = [await addChannel(one, 'domain'), await addChannel(two, 'domain')]
    const [lineOne, lineTwo] = [first, second].map((each) => proofField(each, 'dns')('Value'))

    fixture.txt(NAME, lineTwo as string)
    const { outcome, seen } = await check(one, first)
    assert.equal(outcome, 'absent')
    assert.match(seen[0]?.detail ?? '', /hold nothing for this agent, but for others/)

    fixture.txt(NAME, lineOne as string, lineTwo as string)
    assert.equal((await check(one, first)).state, 'verified')
    assert.equal((await check(two, second)).state, 'verified')
    assert.equal((await check(one, first)).state, 'verified', 'the first one stays')
  })

  test('another owner’s line proves the domain for that owner only', async (t) => {
    const fixture = await startChannelFixture(t)
    const [ada, bob] = [await newProver(fixture), await newProver(fixture)]
    const [hers, his] = [await addChannel(ada, 'domain'), await addChannel(bob, 'domain')]
    fixture.txt(NAME, proofField(his, 'dns')('Value'))
    assert.equal((await check(ada, hers)).outcome, 'absent')
    assert.equal((await check(bob, his)).state, 'verified')
    assert.deepEqual(await publicView(fixture, ada), { grade: 'C', channels: [] })
  })

  test('a token proves only together with its agent’s DID and a future expiry', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const other = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const line = proofField(channel, 'dns')('Value')
    const [token, did, expiry] = line.split(' ') as [string, string, string]
    for (const [text, words] of [
      [`${token} did=${other.did} ${expiry}`, /but for another agent/],
      [`${token} ${did}`, /the token of this channel without an expiry/],
      [`${token} ${did} expiry=`, /with an expiry that is no RFC 3339 time/],
      [`${token} ${did} expiry=2999-02-30T00:00:00Z`, /no RFC 3339 time/],
      [`${token} ${did} expiry=2999-01-01`, /no RFC 3339 time/],
      [`${token} ${did} expiry=2020-01-01T00:00:00Z`, /with an expiry that has passed/],
      [`${token}x ${did} ${expiry}`, /another token for this agent/],
      [`${line} ${token}`, /no line such as/],
      [`${token.toLowerCase()} ${did} ${expiry}`, /another token for this agent/],
      [`token${token} ${did} ${expiry}`, /no line such as/],
      [line.replaceAll(' ', ''), /no line such as/],
    ] as const) {
      fixture.txt(NAME, text)
      const { outcome, seen } = await check(prover, channel)
      assert.equal(outcome, 'absent', text)
      assert.match(seen[0]?.detail ?? '', words, text)
    }
    fixture.txt(NAME, ` ${did}  ${token}\texpiry=2999-01-01t00:00:00+02:00 note=x `)
    assert.equal((await check(prover, channel)).state, 'verified')
  })

  test('a token proves nothing after seven days, whatever expiry the record has', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const early = await newProver(fixture)
    const channel = await addChannel(early, 'domain')
    const line = proofField(channel, 'dns')('Value')
    fixture.txt(NAME, line.replace(/expiry=\S+/, 'expiry=2999-01-01T00:00:00Z'))
    clock.ahead = 7 * DAY_MS
    const late = await signInAgain(fixture, early)

    const answer = await postAction(late, channel, 'check')
    assertRefused(answer, 400, 'VALIDATION_ERROR', /has no token/)
    const [listed] = await listChannels(late)
    assert.deepEqual([listed?.state, listed?.proof], ['pending', null])
    assert.equal((await publicView(fixture, late)).grade, 'C')

    const renewed = await runAction(late, channel, 'renew')
    const fresh = proofField(renewed, 'dns')('Value')
    assert.notEqual(fresh.split(' ')[0], line.split(' ')[0])
    assert.equal((await check(late, renewed)).outcome, 'absent', 'the old record')
    fixture.txt(NAME, fresh)
    assert.equal((await check(late, renewed)).state, 'verified')
  })

  test('after the proof, only the same method is checked and the expiry no longer matters', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const early = await newProver(fixture)
    const channel = await addChannel(early, 'domain')
    const line = proofField(channel, 'dns')('Value')
    fixture.txt(NAME, line)
    assert.equal((await check(early, channel)).state, 'verified')
    clock.ahead = 30 * DAY_MS
    const late = await signInAgain(fixture, early)

    const again = await check(late, channel)
    assert.deepEqual([again.state, again.outcome], ['verified', 'proven'])

    fixture.dns[0]?.remove(NAME)
    fixture.site.serve(FILE, { body: line })
    assert.equal((await check(late, channel)).outcome, 'absent')
    assert.equal(fixture.site.requests.length, 0, 'the file is not asked for')
  })

  test('a domain proves nothing for its subdomains, nor a subdomain for its parent', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const apex = await addChannel(prover, 'domain', 'example.com')
    fixture.txt('_svc-challenge.example.com', proofField(apex, 'dns')('Value'))
    assert.equal((await check(prover, apex)).state, 'verified')

    const sub = await addChannel(prover, 'domain', DOMAIN)
    assert.notEqual(sub.id, apex.id)
    assert.equal((await check(prover, sub)).state, 'pending')
    assert.deepEqual((await publicView(fixture, prover)).channels, ['domain example.com'])
  })

  test('record name, file name and address use the deployment’s short name', async (t) => {
    const fixture = await startChannelFixture(t, { env: { SHORT_NAME: 'acme' } })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    assert.equal(proofField(channel, 'dns')('Name'), `_acme-challenge.${DOMAIN}`)
    const place = proofField(channel, 'file')
    assert.equal(place('Address'), `https://${DOMAIN}/.well-known/acme-challenge.txt`)
    assert.match(place('Line'), / did=acme:agent:/)
    fixture.txt(NAME, place('Line'))
    assert.equal((await check(prover, channel)).state, 'pending', 'another deployment’s name')
    fixture.txt(`_acme-challenge.${DOMAIN}`, place('Line'))
    assert.equal((await check(prover, channel)).state, 'verified')
  })

  test('a revoked agent can prove nothing', async (t) => {
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    await prover.owner.post(`/api/account/agents/${prover.did}/revoke`)
    const added = await postChannel(prover, 'domain', 'example.org')
    assertRefused(added, 400, 'VALIDATION_ERROR', /revoked/)
    assertRefused(await postAction(prover, channel, 'check'), 400, 'VALIDATION_ERROR', /revoked/)
  })
})
