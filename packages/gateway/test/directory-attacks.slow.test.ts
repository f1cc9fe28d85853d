import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { keySetUrlOf } from '@countersign/protocol'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { startTestService } from '../../../test/support/service.ts'
import type { PolicyInput } from '../src/policy/policy.ts'
import { BOTS, botSigner, startBotSite, startDirectory } from './support/directory-site.ts'
import { currentParams, foreignSigner, SHOP, send, signingAgent } from './support/signing.ts'

const t = fileCleanup()
const service = await startTestService(t)
const CARD = `${BOTS}/card`
const MINIMAL = '"@authority" "signature-agent";key="sig1"'
const EVERYTHING = '"@method" "@authority" "@path" "signature-agent";key="sig1"'
const HOUR = 3_600
const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000
const wba = (url: string): PolicyInput => ({
  directories: [{ url, profile: 'wba' }],
  levels: { directory: 'allow' },
})

test('an agent of the service gets neither the lifetime nor the profile of a directory, though the policy lists its key set', async (t) => {
  const { key, did } = await signingAgent(service)
  const keySet = `${service.url}/agent/${did.split(':').at(-1)}/jwks.json`
  const privateKey = createPrivateKey({ key: { ...key.jwk }, format: 'jwk' })
  const pair = { privateKey, publicKey: createPublicKey(privateKey) }
  const { fetch: fetchDirectory } = await startDirectory(t, [key.jwk])
  const issuer = 'https://id.example'
  const url = keySet.replace(service.url, issuer)
  const options = { service: service.url, issuer, fetchDirectory, policy: wba(url) }
  const site = await startBotSite(t, options)
  const agent = foreignSigner({ dialect: 'ietf', url }, pair)
  const reasonFor = async (components: string, params: string) => {
    await send(site.url, await agent.signParts(new Request(`${SHOP}/a`), components, params))
    return [site.last().signature?.reason, site.last().did, site.last().directory]
  }
  assert.deepEqual(await reasonFor(EVERYTHING, currentParams()), [null, did, null])
  const refused = [null, null] as const
  const long = currentParams(Date.now(), 301)
  assert.deepEqual(await reasonFor(EVERYTHING, long), ['lifetime', ...refused])
  assert.deepEqual(await reasonFor(MINIMAL, currentParams()), ['components', ...refused])
  const unnumbered = currentParams().replace(/;nonce=.*/, '')
  assert.deepEqual(await reasonFor(EVERYTHING, unnumbered), ['nonce', ...refused])
})

test("a directory that publishes an agent's key gets nothing of the agent", async (t) => {
  const { agent, key, did } = await signingAgent(service)
  const { fetch: fetchDirectory } = await startDirectory(t, [key.jwk])
  const options = { service: service.url, fetchDirectory, policy: wba(BOTS) }
  const site = await startBotSite(t, options)
  const signed = await agent.sign(`${SHOP}/a`)
  const stolen = signed.clone()
  stolen.headers.set('signature-agent', `sig1="${BOTS}"`)
  assert.equal((await send(site.url, stolen)).status, 401)
  assert.equal(site.reason(), 'bad-signature')
  assert.equal((await send(site.url, signed)).status, 200)
  assert.deepEqual([site.last().did, site.last().directory], [did, null])
})

test('a request of a directory that is older than 300 seconds may be a replay: it passes if it changes nothing, and says so', async (t) => {
  const bot = botSigner()
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const seen: number[] = []
  const nonces = {
    record: ({ createdAt, expiresAt }: { createdAt: number; expiresAt: number }) => {
      seen.push((expiresAt - createdAt) / 1000)
      return 'fresh' as const
    },
  }
  const policy: PolicyInput = { directories: [{ url: BOTS }], levels: { directory: 'allow' } }
  const site = await startBotSite(t, { fetchDirectory, policy, nonces })
  const request = (minutes: number) =>
    bot.signParts(
      new Request(`${SHOP}/a`),
      EVERYTHING,
      currentParams(minutesAgo(minutes), 24 * HOUR),
    )
  const posted = async (minutes: number) => {
    const digest = 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'
    const init = { method: 'POST', headers: { 'content-digest': digest } }
    const covered = EVERYTHING.replace('"@path"', '"@path" "content-digest"')
    const params = currentParams(minutesAgo(minutes), 24 * HOUR)
    return bot.signParts(new Request(`${SHOP}/a`, init), covered, params)
  }
  const outcomeOf = async (signed: Request) => {
    const { status, headers } = await send(site.url, signed)
    return [status, site.last().signature?.replay, headers['accept-signature'] !== undefined]
  }
  assert.deepEqual(await outcomeOf(await request(1)), [200, 'checked', false])
  assert.deepEqual(await outcomeOf(await request(6)), [200, 'unchecked', false])
  assert.deepEqual(await outcomeOf(await posted(1)), [200, 'checked', false])
  assert.deepEqual(await outcomeOf(await posted(6)), [503, 'unchecked', true])
  // Only those that can be remembered are recorded, and not for a day.
  assert.deepEqual(seen, [330, 330])
})

test('type=cimd: the keys of a Client ID Metadata Document, in it or where it says; a document of another client has none', async (t) => {
  const bot = foreignSigner({ dialect: 'cimd', url: CARD })
  const jwks = { keys: [bot.jwk] }
  const keys = `${BOTS}/keys.json`
  const at = async (document: unknown) => {
    const asked: string[] = []
    const fetchDirectory = async (input: string | URL | Request) => {
      asked.push(String(input))
      return Response.json(String(input) === keys ? jwks : document)
    }
    const site = await startBotSite(t, { policy: wba(CARD), fetchDirectory })
    const params = currentParams(Date.now(), HOUR)
    const request = await bot.signParts(new Request(`${SHOP}/a`), MINIMAL, params)
    const { status } = await send(site.url, request)
    return [status, site.last().directory, asked]
  }
  assert.deepEqual(await at({ client_id: CARD, jwks }), [200, CARD, [CARD]])
  assert.deepEqual(await at({ client_id: CARD, jwks_uri: keys }), [200, CARD, [CARD, keys]])
  const without = [503, null, [CARD]]
  assert.deepEqual(await at({ client_id: `${BOTS}/other`, jwks }), without)
  assert.deepEqual(await at({ jwks }), without)
  assert.deepEqual(await at({ client_id: CARD, jwks, jwks_uri: keys }), without)
  assert.deepEqual(await at({ client_id: CARD, jwks_uri: 'https://127.0.0.1/keys.json' }), without)
  assert.deepEqual(
    await at({ client_id: CARD, jwks_uri: 'http://bots.example/keys.json' }),
    without,
  )
  // A key set is no such document, and nothing is guessed.
  assert.deepEqual(await at(jwks), without)
  assert.equal(keySetUrlOf({ dialect: 'cimd', url: CARD }), CARD)
})
