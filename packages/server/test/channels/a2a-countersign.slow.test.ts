import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { suite, test } from 'node:test'
import { canonicalizeAgentCard } from '@a2a-js/sdk'
import {
  type CountersignedCard,
  encodeBase64Url,
  type IssuerJwk,
  type KeySet,
  TOKEN_TYPES,
  verifyToken,
} from '@countersign/protocol'
import { Registry, verifyCertificate, verifyStaple } from '@countersign/sdk'
import { createLocalJWKSet, createRemoteJWKSet, flattenedVerify, importJWK, jwtVerify } from 'jose'
import { keySetOf, verifyWithJwk } from '../../../../test/support/agent-certificates.ts'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { DocPage } from '../../../../test/support/doc-page.ts'
import { newKey } from '../../../../test/support/key.ts'
import { pythonFor } from '../../../../test/support/python.ts'
import { run } from '../../../../test/support/run.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import {
  CARD,
  type CardJson,
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
  type Fixture,
  newAgentOf,
  newProver,
  type Prover,
  signInAgain,
  startChannelFixture,
} from './support/channel-fixture.ts'

type Ends = { after(end: () => unknown): void }

/** A verified channel, and the card that proves it. */
async function startVerified(t: Ends) {
  const started = await startWithChannel(t)
  const { prover, kid, extension, see, channel } = started
  const card = cardWith(extension)
  assert.equal((await see(await signed(card, prover, { kid }))).state, 'verified')
  return { ...started, card, countersign: () => countersign(prover, channel.id) }
}

function countersign({ owner, did }: Prover, channel: string) {
  return owner.post(`/api/account/agents/${did}/channels/${channel}/countersign`)
}

async function countersigned(
  answer: ReturnType<typeof countersign>,
): Promise<CountersignedCard & { readonly card: CardJson }> {
  const { status, text } = await answer
  assert.equal(status, 200, text)
  return JSON.parse(text)
}

function keySetPath({ did }: Prover): string {
  return `/agent/${did.slice(-24)}/a2a-jwks.json`
}

async function keysOf({ service }: Fixture, prover: Prover) {
  const answer = await ask(service, keySetPath(prover))
  assert.equal(answer.status, 200)
  return jsonOf<KeySet>(answer).keys
}

function headerOf({ protected: header }: { readonly protected: string }) {
  return JSON.parse(Buffer.from(header, 'base64url').toString())
}

const PAGE = new DocPage('docs/channels.md', import.meta.filename)
const MODULE = PAGE.take('Verify a countersignature', 'js').replace(
  "'@a2a-js/sdk'",
  JSON.stringify(import.meta.resolve('@a2a-js/sdk')),
)

PAGE.assertAllTaken()

/** Verifies with the A2A SDK, by the code of docs/channels.md. */
async function verifyBySdk({ service }: Fixture, { did }: Prover, card: unknown): Promise<void> {
  const { verifyCountersigned } = await import(`data:text/javascript,${encodeURIComponent(MODULE)}`)
  assert.equal(await verifyCountersigned(card, service.url), did)
}

suite('a countersignature', () => {
  test('is added to the published card, and @a2a-js/sdk accepts it with the key of the jku', async (t) => {
    const { fixture, prover, countersign, card, see } = await startVerified(t)
    const { card: result, signature } = await countersigned(countersign())
    const [own, added, ...more] = result.signatures as { protected: string; signature: string }[]
    assert.deepEqual([added, more.length], [signature, 0])
    assert.equal(headerOf(own as typeof signature).kid, keyIdOf(fixture, prover))
    const [key] = await keysOf(fixture, prover)
    const jku = fixture.service.url + keySetPath(prover)
    assert.deepEqual(headerOf(signature), { alg: 'EdDSA', typ: 'JOSE', kid: key?.kid, jku })
    const { signatures: _, ...content } = result
    assert.deepEqual(content, card, 'the rest of the card is unchanged')

    await verifyBySdk(fixture, prover, { ...result, signatures: [signature] })
    await assert.rejects(
      verifyBySdk(fixture, prover, { ...result, name: 'Another', signatures: [signature] }),
    )
    // The owner publishes it: it still proves the channel, and is not countersigned twice.
    assert.equal((await see(result)).state, 'verified')
    assert.deepEqual((await countersigned(countersign())).card, result)
  })

  test('is accepted by PyJWT over the JCS form', pythonFor('jwt').options, async (t) => {
    const { fixture, prover, channel, extension, kid } = await startWithChannel(t)
    const { capabilities: _, ...rest } = cardWith()
    // Without default values, the canonical form is the JCS form of the card itself.
    const card = { ...rest, capabilities: { extensions: [extension] } }
    publish(fixture, await signed(card, prover, { kid }))
    assert.equal((await check(prover, channel)).state, 'verified')
    const result = await countersigned(countersign(prover, channel.id))
    const verify = (text: string) =>
      run(pythonFor('jwt').path, ['-c', VERIFY_WITH_PYJWT, text, fixture.service.url], {})
    const good = await verify(JSON.stringify(result.card))
    assert.equal(good.stdout.trim(), prover.did, good.stderr)
    const bad = await verify(JSON.stringify({ ...result.card, name: 'Another' }))
    assert.match(bad.stderr, /InvalidSignatureError/)
  })

  test('ends with the agent and with the channel, and each channel has a key of its own', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock, names: [DOMAIN, 'bots.example.org'] })
    const prover = await newProver(fixture)
    const other = await newAgentOf(fixture, prover.owner.ownerId, 'other')
    assert.deepEqual(await keysOf(fixture, prover), [], 'no channel')
    const here = await addChannel(prover, 'a2a')
    const there = await addChannel(prover, 'a2a', 'bots.example.org')
    const theirs = await addChannel(other, 'a2a')
    assert.deepEqual(await keysOf(fixture, prover), [], 'no verified channel')
    const card = cardWith(...[here, there, theirs].map(extensionOf))
    const once = await signed(card, prover, { kid: keyIdOf(fixture, prover) })
    publish(fixture, await signed(once, other, { kid: keyIdOf(fixture, other) }))
    for (const [each, channel] of [[prover, here] as const, [prover, there] as const])
      assert.equal((await check(each, channel)).state, 'verified')
    assert.equal((await check(other, theirs)).state, 'verified')
    const [mine, elsewhere, foreign] = await Promise.all([
      countersigned(countersign(prover, here.id)),
      countersigned(countersign(prover, there.id)),
      countersigned(countersign(other, theirs.id)),
    ])
    const kids = [mine, elsewhere, foreign].map(({ signature }) => headerOf(signature).kid)
    assert.equal(new Set(kids).size, 3)
    const published = async (each: Prover) => (await keysOf(fixture, each)).map(({ kid }) => kid)
    assert.deepEqual((await published(prover)).sort(), kids.slice(0, 2).sort())
    assert.deepEqual(await published(other), kids.slice(2))
    await assert.rejects(
      verifyBySdk(fixture, prover, { ...card, signatures: [foreign.signature] }),
      /No valid signatures/,
    )

    const path = `/api/account/agents/${prover.did}/channels/${here.id}`
    assert.equal((await prover.owner.send('DELETE', path)).status, 204)
    assert.deepEqual(await published(prover), kids.slice(1, 2), 'the removed channel is gone')
    assert.equal((await countersign(prover, here.id)).status, 404)

    clock.ahead = 91 * 86_400_000
    assert.deepEqual(await published(prover), [], 'the proof has expired')
    const late = await signInAgain(fixture, prover)
    const refused = await countersign(late, there.id)
    assert.deepEqual([refused.status, codeOf(refused)], [409, 'CONFLICT'])

    clock.ahead = 0
    assert.deepEqual(await published(other), kids.slice(2))
    await setStatus(fixture.service, other.did, 'suspended')
    assert.deepEqual(await published(other), [], 'the agent is suspended')
    const suspended = await countersign(await signInAgain(fixture, other), theirs.id)
    assert.deepEqual([suspended.status, codeOf(suspended)], [409, 'AGENT_NOT_ACTIVE'])
  })
})

suite('a card is refused', () => {
  test('with JWT claims, unknown members, or anything that the signature would not cover', async (t) => {
    const { fixture, prover, kid, card, countersign } = await startVerified(t)
    const refuse = async (published: CardJson | string, words: RegExp) => {
      publish(fixture, published)
      const answer = await countersign()
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'VALIDATION_ERROR'], answer.text)
      assert.match(answer.text, words)
    }
    const now = Math.floor(Date.now() / 1000)
    const issuer = fixture.service.url
    for (const claims of [
      { iss: issuer, sub: prover.did, aud: 'https://shop.example', exp: now + 300, iat: now },
      { cnf: { jwk: {} } },
      { vct: 'x' },
      { nonce: 'x' },
      { scope: 'admin' },
    ])
      await refuse(
        await signed({ ...card, ...claims }, prover, { kid }),
        new RegExp(`claims of tokens: ${Object.keys(claims).join(', ')}`),
      )
    const skill = (card.skills as object[])[0]
    for (const [changed, path] of [
      [{ 'x-team': 'a' }, 'x-team'],
      [{ url: 'https://a.example', protocolVersion: '0.3' }, 'url, protocolVersion'],
      [{ Name: 'a' }, 'Name'],
      [{ skills: [{ ...skill, sub: 'did' }] }, 'skills\\[0\\]\\.sub'],
      [{ capabilities: { ...(card.capabilities as object), iss: 'a' } }, 'capabilities\\.iss'],
      [{ provider: { organization: 'A', url: 'https://a.example', aud: ['x'] } }, 'provider\\.aud'],
      [{ supported_interfaces: card.supportedInterfaces }, 'supported_interfaces'],
    ] as const)
      await refuse(
        await signed({ ...card, ...changed }, prover, { kid }),
        new RegExp(`would not cover these members of the agent card, [^:]*: ${path}\\.`),
      )

    const good = JSON.stringify(await signed(card, prover, { kid }))
    const name = JSON.stringify({ name: card.name }).slice(1, -1)
    await refuse(good.replace(name, `"name":"Another",${name}`), /duplicate key/)
    await refuse(good.replace(/^\{/, `{"capabilities":{},`), /duplicate key/)
    await refuse(good.replace(/^\{/, '{"__proto__":{"iss":"a"},'), /is not JSON/)
    await refuse(good.replace('"id":"find"', '"id":"find","id":"find"'), /duplicate key/)
    publish(fixture, good)
    await countersigned(countersign())
  })

  test('that does not contain the DID in its extension, or that the agent has not signed', async (t) => {
    const { fixture, prover, kid, card, extension, countersign } = await startVerified(t)
    const { params } = extension
    const skill = { ...(card.skills as object[])[0], description: `I am ${prover.did}` }
    const nested = { uri: 'https://example.org/ext', params: { identity: extension, ...params } }
    const stranger = await newProver(fixture)
    for (const [published, words] of [
      [await signed({ ...cardWith(nested), skills: [skill] }, prover, { kid }), /has no extension/],
      [
        await signed(cardWith({ ...extension, params: { nested: params } }), prover, { kid }),
        /names another agent/,
      ],
      [
        await signed(cardWith({ ...extension, params: { ...params, nonce: 'x' } }), prover, {
          kid,
        }),
        /another nonce/,
      ],
      [card, /nobody has signed it/],
      [await signed(card, { ...prover, key: stranger.key }, { kid }), /no valid signature/],
      [{ ...(await signed(card, prover, { kid })), version: '2' }, /no valid signature/],
    ] as const) {
      publish(fixture, published)
      const answer = await countersign()
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'VALIDATION_ERROR'], answer.text)
      assert.match(answer.text, words)
    }
    fixture.site.serve(CARD, { status: 503, body: '' })
    const unreachable = await countersign()
    assert.deepEqual([unreachable.status, codeOf(unreachable)], [409, 'CONFLICT'])
  })

  test('if the resolvers disagree, or the channel is not a verified agent-to-agent channel of the owner', async (t) => {
    const fixture = await startChannelFixture(t, { resolvers: 2 })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'a2a')
    const pending = await countersign(prover, channel.id)
    assert.deepEqual([pending.status, codeOf(pending)], [409, 'CONFLICT'])
    const card = cardWith(extensionOf(channel))
    publish(fixture, await signed(card, prover, { kid: keyIdOf(fixture, prover) }))
    assert.equal((await check(prover, channel)).state, 'verified')
    await countersigned(countersign(prover, channel.id))
    fixture.dns[1]?.fail('*', 'SERVFAIL')
    const half = await countersign(prover, channel.id)
    assert.deepEqual([half.status, codeOf(half)], [409, 'CONFLICT'])

    const domain = await addChannel(prover, 'domain')
    const otherKind = await countersign(prover, domain.id)
    assert.deepEqual([otherKind.status, codeOf(otherKind)], [400, 'VALIDATION_ERROR'])
    const stranger = await newProver(fixture)
    const foreign = await countersign({ ...prover, owner: stranger.owner }, channel.id)
    assert.equal(foreign.status, 404)
    const path = `/api/account/agents/${prover.did}/channels/${channel.id}/countersign`
    const anonymous = await post(fixture.service, path, {})
    assert.equal(anonymous.status, 401)
    assert.equal((await ask(fixture.service, '/agent/x/a2a-jwks.json')).status, 400)
    assert.equal((await ask(fixture.service, `/agent/${'1'.repeat(24)}/a2a-jwks.json`)).status, 404)
  })
})

test('no other verifier accepts a countersignature, and its key is in no other key set', async (t) => {
  const { fixture, prover, countersign } = await startVerified(t)
  const { service } = fixture
  const { card, signature } = await countersigned(countersign())
  const payload = encodeBase64Url(Buffer.from(canonicalizeAgentCard(card as never)))
  const token = `${signature.protected}.${payload}.${signature.signature}`
  const [key] = await keysOf(fixture, prover)
  assert.ok(key)
  const { keys: issuerKeys } = await keySetOf(service)
  await flattenedVerify({ ...signature, payload }, await importJWK({ ...key, alg: 'EdDSA' }))

  const remote = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`))
  await assert.rejects(jwtVerify(token, remote), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
  // Even a verifier that mixes up the key sets finds no claim of a token.
  const mixed = createLocalJWKSet({ keys: [key] })
  const issuer = service.url
  for (const options of [
    { issuer },
    { subject: prover.did },
    { audience: issuer },
    { requiredClaims: ['exp'] },
  ])
    await assert.rejects(jwtVerify(token, mixed, options), {
      code: 'ERR_JWT_CLAIM_VALIDATION_FAILED',
    })
  const now = Math.floor(Date.now() / 1000)
  for (const typ of Object.values(TOKEN_TYPES))
    for (const keys of [issuerKeys, [key as unknown as IssuerJwk]])
      await assert.rejects(verifyToken(token, { typ, issuer, keys, now }, verifyWithJwk))
  const trusted = { issuers: [{ issuer, keys: { keys: [...issuerKeys, key] } }] } as never
  await assert.rejects(async () => verifyCertificate(token, trusted))
  await assert.rejects(async () => verifyStaple(token, trusted))

  const publicKey = Buffer.from(key.x, 'base64url').toString('base64')
  const bytes = Buffer.from(signature.signature, 'base64url').toString('base64')
  const challenge = `${signature.protected}.${payload}`
  const verified = await ask(service, '/api/v1/agent/verify', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ publicKey, challenge, signature: bytes }),
  })
  assert.ok(verified.status === 400 || verified.status === 404, verified.text)
  await assert.rejects(new Registry(service.url).lookup(publicKey), { code: 'NOT_FOUND' })
  assert.equal((await ask(service, `/api/v1/keys/${key.kid}`)).status, 404)
  const tail = prover.did.slice(-24)
  for (const path of [
    '/.well-known/jwks.json',
    '/.well-known/http-message-signatures-directory',
    `/agent/${tail}/jwks.json`,
    `/agent/${tail}/did.json`,
    `/agent/${prover.did}/did.json`,
    `/api/v1/agent/${prover.did}`,
  ]) {
    const { text } = await ask(service, path)
    assert.ok(!text.includes(key.x) && !text.includes(key.kid), path)
  }
  // A card that a stranger signs with a key of their own, under the jku of the agent.
  const { privateKey } = generateKeyPairSync('ed25519')
  assert.notDeepEqual(createPublicKey(privateKey).export({ format: 'jwk' }).x, key.x)
  const header = { alg: 'EdDSA', typ: 'JOSE', kid: key.kid, jku: headerOf(signature).jku }
  const forged = await signed(card, { ...prover, key: newKey() }, header)
  const [last] = (forged.signatures as unknown[]).slice(-1)
  await assert.rejects(verifyBySdk(fixture, prover, { ...card, signatures: [last] }))
})

function codeOf({ text }: { readonly text: string }): string {
  return JSON.parse(text).error.code
}

const VERIFY_WITH_PYJWT = `
import base64, json, sys
import jwt
card, service = json.loads(sys.argv[1]), sys.argv[2]
signature = card.pop("signatures")[-1]
did = next(e["params"]["did"] for e in card["capabilities"]["extensions"] if e["uri"] == service + "/a2a/identity/v1")
canonical = json.dumps(card, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
payload = base64.urlsafe_b64encode(canonical).rstrip(b"=").decode()
token = ".".join([signature["protected"], payload, signature["signature"]])
header = jwt.get_unverified_header(token)
assert header["jku"] == f"{service}/agent/{did[-24:]}/a2a-jwks.json"
key = jwt.PyJWKClient(header["jku"]).get_signing_key(header["kid"]).key
assert jwt.decode(token, key, algorithms=["EdDSA"]) == card
print(did)
`
