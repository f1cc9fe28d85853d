import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { AGENT_CARD_PATH } from '@a2a-js/sdk'
import { keyThumbprint } from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import {
  CARD,
  cardWith,
  extensionOf,
  keyIdOf,
  publish,
  signed,
  startWithChannel,
} from './support/agent-cards.ts'
import {
  addChannel,
  check,
  DOMAIN,
  newAgentOf,
  newProver,
  proofField,
  publicView,
  signInAgain,
  startChannelFixture,
} from './support/channel-fixture.ts'

const DAY_MS = 86_400_000

suite('an agent card that proves', () => {
  test('if it names the agent and the agent has signed it, raising the grade from C to A', async (t) => {
    const fixture = await startChannelFixture(t, { resolvers: 3 })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'a2a')
    assert.deepEqual(
      [channel.handleOrDomain, channel.tier, channel.label],
      [DOMAIN, 2, 'Agent-to-agent (A2A)'],
    )
    assert.equal(CARD, `/${AGENT_CARD_PATH}`)
    assert.equal(proofField(channel, 'card')('Address'), `https://${DOMAIN}${CARD}`)
    const extension = extensionOf(channel)
    assert.equal(extension.uri, `${fixture.service.url}/a2a/identity/v1`)
    assert.deepEqual(Object.keys(extension.params), ['did', 'nonce', 'expiry'])
    assert.deepEqual(
      [extension.params.did, extension.params.expiry],
      [prover.did, channel.proof?.expiresAt],
    )

    publish(fixture, await signed(cardWith(extension), prover, { kid: keyIdOf(fixture, prover) }))
    const { state, seen } = await check(prover, channel)

    assert.equal(state, 'verified')
    assert.equal(seen.length, 3)
    for (const { detail } of seen) assert.match(detail, /names this agent and is signed by it\.$/)
    const seenByAll = await publicView(fixture, prover)
    assert.deepEqual(seenByAll, { grade: 'A', channels: [`a2a ${DOMAIN}`] })
  })

  test('with each accepted key ID and algorithm name', async (t) => {
    const { see, prover, kid, extension } = await startWithChannel(t)
    const thumbprint = keyThumbprint(Buffer.from(prover.key.publicKey, 'base64'))
    for (const header of [
      { kid },
      { kid: `${kid}-jwk` },
      { kid: thumbprint },
      { kid, alg: 'Ed25519' },
    ]) {
      const { outcome, detail } = await see(await signed(cardWith(extension), prover, header))
      assert.equal(outcome, 'proven', `${JSON.stringify(header)}: ${detail}`)
    }
  })

  test('with other formatting, member order, extensions and signatures', async (t) => {
    const { see, prover, kid, extension } = await startWithChannel(t)
    const other = { uri: 'https://example.org/ext/v1', params: { a: 1.5e30, b: ['é', null] } }
    const stale = { ...extension, params: { ...extension.params, nonce: 'of-before' } }
    const foreign = { ...extension, uri: 'https://id.example/a2a/identity/v1' }
    const card = cardWith(other, stale, foreign, extension)
    const by = await signed(card, { ...prover, key: newKey() }, { kid: 'someone' })
    const both = await signed(by, prover, { kid })
    const turned = Object.fromEntries(Object.entries(both).reverse())
    assert.equal((await see(JSON.stringify(turned, null, 4))).state, 'verified')
  })

  test('at every daily check, also after its expiry, as long as it is signed', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const early = await newProver(fixture)
    const channel = await addChannel(early, 'a2a')
    const card = await signed(cardWith(extensionOf(channel)), early, {
      kid: keyIdOf(fixture, early),
    })
    publish(fixture, card)
    assert.equal((await check(early, channel)).state, 'verified')
    clock.ahead = 30 * DAY_MS
    const late = await signInAgain(fixture, early)

    const again = await check(late, channel)
    assert.deepEqual([again.state, again.outcome], ['verified', 'proven'])

    publish(fixture, { ...card, signatures: [] })
    assert.equal((await check(late, channel)).outcome, 'absent')
    publish(fixture, { ...card, name: 'Another name' })
    assert.equal((await check(late, channel)).outcome, 'absent')
  })

  test('for one agent at two domains, and for two agents on one card', async (t) => {
    const fixture = await startChannelFixture(t, { names: [DOMAIN, 'bots.example.org'] })
    const one = await newProver(fixture)
    const two = await newAgentOf(fixture, one.owner.ownerId, 'second')
    const here = await addChannel(one, 'a2a')
    const there = await addChannel(one, 'a2a', 'bots.example.org')
    const second = await addChannel(two, 'a2a')
    const card = cardWith(...[second, there, here].map(extensionOf))
    const once = await signed(card, one, { kid: keyIdOf(fixture, one) })
    publish(fixture, await signed(once, two, { kid: keyIdOf(fixture, two) }))
    for (const [prover, channel] of [
      [one, here],
      [one, there],
      [two, second],
    ] as const) {
      assert.equal((await check(prover, channel)).state, 'verified', channel.handleOrDomain)
    }
    assert.equal((await publicView(fixture, one)).channels.length, 2)
  })
})

suite('a response that is not an agent card', () => {
  test('is reported as absent and proves nothing', async (t) => {
    const { see, fixture, prover, kid, extension } = await startWithChannel(t)
    const text = JSON.stringify(cardWith(extension))
    for (const junk of [
      '',
      '{',
      'null',
      '[]',
      '"card"',
      '<!doctype html><title>An app</title>',
      `${text},`,
      '['.repeat(60_000),
      `{"capabilities":{"extensions":[{"uri":"x","params":{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}}]}}`,
      '{"capabilities":{"extensions":[null]}}',
      '{"name":{"toString":1}}',
      '{"skills":[null]}',
    ]) {
      const { outcome, detail } = await see(junk)
      assert.equal(outcome, 'absent', junk.slice(0, 40))
      assert.match(detail, /is no agent card of A2A 1\.0\.$/, junk.slice(0, 40))
    }
    for (const odd of [
      '{}',
      '{"capabilities":5,"signatures":{}}',
      '{"capabilities":{"extensions":{"0":null}}}',
      '{"securitySchemes":{"__proto__":{"a":1}},"name":"a","name":"b"}',
      '{"capabilities":{"extensions":[{"uri":["x"],"params":"y"}]}}',
      Buffer.from('{"name":"\xff\xfe"}', 'latin1'),
    ]) {
      const { outcome, detail } = await see(odd)
      assert.equal(outcome, 'absent', String(odd))
      assert.match(detail, /has no extension/)
    }
    assert.equal(({} as { a?: unknown }).a, undefined, 'no prototype has been touched')
    assert.equal((await see(' '.repeat(70_000))).outcome, 'unreachable', 'more than 64 KiB')
    assert.equal((await see(await signed(cardWith(extension), prover, { kid }))).state, 'verified')
    assert.equal((await fetch(`${fixture.service.url}/healthz`)).status, 200)
  })

  test('means absent for 404 and 410 only, otherwise unreachable', async (t) => {
    const { fixture, prover, channel, kid, extension } = await startWithChannel(t)
    const body = JSON.stringify(await signed(cardWith(extension), prover, { kid }))
    for (const [status, outcome] of [
      [404, 'absent'],
      [410, 'absent'],
      [401, 'unreachable'],
      [503, 'unreachable'],
    ] as const) {
      fixture.site.serve(CARD, { status, body })
      assert.equal((await check(prover, channel)).outcome, outcome, String(status))
    }
    fixture.dns[0]?.fail('*', 'SERVFAIL')
    assert.equal((await check(prover, channel)).outcome, 'unreachable')
    fixture.dns[0]?.fail('*', null)
    fixture.dns[0]?.remove(DOMAIN)
    assert.equal((await check(prover, channel)).outcome, 'absent')
  })
})
