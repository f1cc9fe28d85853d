import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { suite, test } from 'node:test'
import { canonicalizeAgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import { newKey } from '../../../../test/support/key.ts'
import {
  CARD,
  type CardJson,
  cardWith,
  type Extension,
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
  newProver,
  type Prover,
  startChannelFixture,
} from './support/channel-fixture.ts'

suite('an agent card that proves nothing', () => {
  test('because the agent has not signed it', async (t) => {
    const { see, fixture, prover, kid, extension } = await startWithChannel(t)
    const card = cardWith(extension)
    const unsigned = await see(card)
    assert.equal(unsigned.outcome, 'absent')
    assert.match(unsigned.detail, /names this agent, but nobody has signed it/)

    const stranger = await newProver(fixture)
    const byTheirs = await signed(card, { ...prover, key: stranger.key }, { kid })
    const good = await signed(card, prover, { kid })
    const [signature] = good.signatures as { protected: string; signature: string }[]
    assert.ok(signature)
    const forged = Buffer.from(signature.signature, 'base64url')
    forged[0] = (forged[0] as number) ^ 1
    const rawHeader = (text: string) => {
      const head = Buffer.from(text).toString('base64url')
      return { ...card, signatures: [signedHeader(prover, card, head)] }
    }
    for (const [name, bad] of [
      ['another key', byTheirs],
      [
        'another key under its own name',
        await signed(card, stranger, { kid: keyIdOf(fixture, stranger) }),
      ],
      ['changed after', { ...good, description: 'Another' }],
      [
        'a flipped bit',
        { ...card, signatures: [{ ...signature, signature: forged.toString('base64url') }] },
      ],
      ['no kid', await signed(card, prover, {})],
      ['a kid of nobody', await signed(card, prover, { kid: 'key-1' })],
      [
        'a critical header',
        { ...card, signatures: [withHeader(prover, card, { kid, crit: ['exp'], exp: 1 })] },
      ],
      ['a header after a byte order mark', rawHeader(`\ufeff{"alg":"EdDSA","kid":"${kid}"}`)],
      ['a header after a space', rawHeader(` {"alg":"EdDSA","kid":"${kid}"}`)],
      ['a header with a space after its brace', rawHeader(`{ "alg":"EdDSA","kid":"${kid}"}`)],
      [
        'alg none',
        { ...card, signatures: [{ protected: encode({ alg: 'none', kid }), signature: '' }] },
      ],
      [
        'alg outside the signed header',
        {
          ...card,
          signatures: [
            { ...withHeader(prover, card, { kid, alg: undefined }), header: { alg: 'EdDSA' } },
          ],
        },
      ],
      ['another algorithm', await signedByEc(card, kid)],
      ['the public key as a secret', await signedByHmac(card, kid, prover)],
      [
        'no signature objects',
        {
          ...card,
          signatures: [
            null,
            1,
            'x',
            [],
            {},
            { protected: 1, signature: 2 },
            { protected: '!', signature: '!' },
          ],
        },
      ],
      [
        'too many before it',
        { ...card, signatures: [...Array(16).fill(byTheirs.signatures), signature].flat() },
      ],
    ] as const) {
      const { outcome, detail } = await see(bad)
      assert.equal(outcome, 'absent', name)
      assert.match(detail, /no valid signature by the agent’s certified key/, name)
    }
    assert.equal((await see(good)).state, 'verified')
  })

  test('because its extension does not name the agent, token and expiry', async (t) => {
    const { see, fixture, prover, kid, extension } = await startWithChannel(t)
    const { did } = await newProver(fixture)
    const { params } = extension
    const withParams = (changed: object): Extension => ({
      ...extension,
      params: { ...params, ...changed },
    })
    for (const [card, words] of [
      [cardWith(), /has no extension http:\/\/localhost:\d+\/a2a\/identity\/v1/],
      [cardWith({ ...extension, uri: 'https://id.example/a2a/identity/v1' }), /has no extension/],
      [cardWith(withParams({ did })), /names another agent/],
      [cardWith(withParams({ did: [params.did] })), /names another agent/],
      [cardWith({ uri: extension.uri }), /names another agent/],
      [cardWith({ ...extension, params: [params] }), /names another agent/],
      [cardWith(withParams({ nonce: 'x' })), /with another nonce/],
      [cardWith(withParams({ nonce: { toString: 1 } })), /with another nonce/],
      [cardWith(withParams({ expiry: undefined })), /names this agent without an expiry/],
      [cardWith(withParams({ expiry: 4102444800 })), /without an expiry/],
      [cardWith(withParams({ expiry: 'tomorrow' })), /that is no RFC 3339 time/],
      [cardWith(withParams({ expiry: '2020-01-01T00:00:00Z' })), /that has passed/],
    ] as const) {
      const { outcome, detail } = await see(await signed(card, prover, { kid }))
      assert.equal(outcome, 'absent', detail)
      assert.match(detail, words)
    }
  })

  test('because the signature does not cover the extension', async (t) => {
    const { see, prover, kid, extension } = await startWithChannel(t)
    const plain = await signed(cardWith(), prover, { kid })
    const { uri, params } = extension
    for (const smuggled of [
      JSON.stringify({ ...plain, extensions: [extension] }),
      JSON.stringify({ ...plain, identity: params, 'x-capabilities': { extensions: [extension] } }),
      JSON.stringify(plain).replace(
        /^\{/,
        `{"__proto__":{"capabilities":{"extensions":[${JSON.stringify(extension)}]}},`,
      ),
    ]) {
      const { outcome, detail } = await see(smuggled)
      assert.equal(outcome, 'absent')
      assert.match(detail, /has no extension/)
    }
    // A member named __proto__ is not part of the signed canonical form, so it must not be read.
    const hollow = cardWith({ uri, params: { a: 1 } })
    const filled = JSON.stringify(await signed(hollow, prover, { kid })).replace(
      '"a":1',
      `"a":1,"__proto__":${JSON.stringify(params)}`,
    )
    const { outcome, detail } = await see(filled)
    assert.equal(outcome, 'absent')
    assert.match(detail, /names another agent/)
  })

  test('because the key is at a URL in the header, which is not fetched', async (t) => {
    const fixture = await startChannelFixture(t, { names: [DOMAIN, 'keys.example.com'] })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'a2a')
    const theirs = { ...prover, key: newKey() }
    const x = Buffer.from(theirs.key.publicKey, 'base64').toString('base64url')
    const jwk = { kty: 'OKP', crv: 'Ed25519', x }
    const jku = 'https://keys.example.com/jwks.json'
    fixture.site.serve('/jwks.json', { body: JSON.stringify({ keys: [jwk] }) })
    const kid = keyIdOf(fixture, prover)
    publish(
      fixture,
      await signed(cardWith(extensionOf(channel)), theirs, { kid, jku, jwk, x5u: jku }),
    )
    assert.equal((await check(prover, channel)).outcome, 'absent')
    assert.deepEqual(
      fixture.site.requests.map(({ url }) => url),
      [CARD],
    )
  })
})

function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString(
    'base64url',
  )
}

/** A valid signature with a header that no library writes. */
function withHeader(prover: Prover, card: CardJson, header: object) {
  return signedHeader(prover, card, encode({ alg: 'EdDSA', typ: 'JOSE', ...header }))
}

function signedHeader({ key }: Prover, card: CardJson, head: string) {
  const signature = key.sign(`${head}.${encode(canonicalizeAgentCard(card as never))}`)
  return { protected: head, signature: Buffer.from(signature, 'base64').toString('base64url') }
}

async function signedByEc(card: CardJson, kid: string): Promise<CardJson> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sign = generateAgentCardSignature(privateKey, { alg: 'ES256', typ: 'JOSE', kid })
  return { ...(await sign(card as never)) } as unknown as CardJson
}

async function signedByHmac(card: CardJson, kid: string, { key }: Prover): Promise<CardJson> {
  const k = Buffer.from(key.publicKey, 'base64').toString('base64url')
  const sign = generateAgentCardSignature({ kty: 'oct', k }, { alg: 'HS256', typ: 'JOSE', kid })
  return { ...(await sign(card as never)) } as unknown as CardJson
}
