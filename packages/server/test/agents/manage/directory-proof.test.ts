import assert from 'node:assert/strict'
import { createPublicKey, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import {
  type DirectoryProof,
  directoryMessage,
  type KeySet,
  keyThumbprint,
  signDirectory,
} from '@countersign/protocol'
import { httpbis } from 'http-message-signatures'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { replaceKey } from '../../../../../test/support/replace-key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../../test/support/sign-request.ts'
import { until } from '../../../../../test/support/until.ts'

const bytesOf = ({ publicKey }: TestKey) => new Uint8Array(Buffer.from(publicKey, 'base64'))

interface Times {
  readonly created?: number
  readonly lifetime?: number
}

function proofOf(
  key: TestKey,
  authority: string,
  { created = Math.floor(Date.now() / 1000), lifetime = 3600 }: Times = {},
) {
  const claim = { authority, publicKey: bytesOf(key), created, expires: created + lifetime }
  return signDirectory(claim, (message) => new Uint8Array(sign(null, message, key.privateKey)))
}

/** An agent, with functions that upload a signature and read its key set. */
async function start(t: Parameters<typeof startTestService>[0], now?: () => number) {
  const service = await startTestService(t, {}, now)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const { host } = new URL(service.url)
  const upload = (body: unknown): Promise<Answer> =>
    ask(service, `/api/v1/agent/${did}/directory-proof`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const keySet = () => ask(service, `/agent/${did.slice(-24)}/jwks.json`)
  const isServed = async () => (await keySet()).headers.has('signature')
  return { service, key, did, host, upload, keySet, isServed }
}

function verifiedByOthers({ url }: TestService, { headers, text }: Answer, path: string) {
  const { keys } = JSON.parse(text) as KeySet
  return httpbis.verifyMessage(
    {
      all: true,
      requiredParams: ['created', 'expires', 'keyid', 'tag'],
      requiredFields: ['@authority'],
      keyLookup: async ({ keyid }) => {
        const key = keys.find(({ kid }) => kid === keyid)
        if (key === undefined) return null
        const publicKey = createPublicKey({ key, format: 'jwk' })
        return {
          id: key.kid,
          algs: ['ed25519'],
          verify: async (data, signature) => verify(null, data, publicKey, signature),
        }
      },
    },
    { status: 200, headers: Object.fromEntries(headers) },
    { method: 'GET', url: url + path, headers: {} },
  )
}

test('the signature of an agent over its key set is served while the agent is active and has the key', async (t) => {
  const { service, key, did, host, upload, keySet, isServed } = await start(t)
  assert.equal(await isServed(), false)
  const proof = await proofOf(key, host)
  const uploaded = jsonOf<DirectoryProof>(await upload(proof))
  assert.equal(uploaded.svcDid, did)
  assert.equal(uploaded.keyid, keyThumbprint(bytesOf(key)))
  await until(isServed)
  const served = await keySet()
  assert.equal(served.headers.get('signature-input'), proof.signatureInput)
  assert.match(served.headers.get('access-control-expose-headers') ?? '', /Signature-Input/)
  assert.equal(await verifiedByOthers(service, served, `/agent/${did.slice(-24)}/jwks.json`), true)
  assert.equal((await upload(proof)).status, 200, 'a retry succeeds')

  await setStatus(service, did, 'suspended')
  assert.equal(await isServed(), false)
  assertRefused(await upload(await proofOf(key, host)), 409, 'CONFLICT', /suspended/)
  await setStatus(service, did, 'active')
  assert.equal(await isServed(), true)
  const next = newKey()
  await replaceKey(service.operator.db, did.slice(-24), bytesOf(next))
  await until(async () => !(await isServed()))
  assertRefused(await upload(await proofOf(key, host)), 401, 'INVALID_SIGNATURE')
  assert.equal((await upload(await proofOf(next, host))).status, 200)
  await until(isServed)
  await setStatus(service, did, 'revoked')
  assert.equal(await isServed(), false)
})

test('a signature is served until it expires, also after a restart', async (t) => {
  let offset = 0
  const { service, key, host, upload, isServed, did } = await start(t, () => Date.now() + offset)
  assert.equal((await upload(await proofOf(key, host, { lifetime: 600 }))).status, 200)
  await until(isServed)
  const { env } = service
  await service.stop()
  const again = await startTestService(t, env, () => Date.now() + offset)
  const served = async () =>
    (await ask(again, `/agent/${did}/jwks.json`)).headers.has('signature-input')
  assert.equal(await served(), true)
  offset = 600_000
  assert.equal(await served(), false)
})

test('what is not a signature of this key over this key set is refused', async (t) => {
  const { service, key, did, host, upload, isServed } = await start(t)
  const now = Math.floor(Date.now() / 1000)
  const good = await proofOf(key, host)
  const signed = (params: string, label = 'sig1') => {
    const bytes = sign(null, directoryMessage(host, params), key.privateKey)
    return {
      signatureInput: `${label}=${params}`,
      signature: `${label}=:${bytes.toString('base64')}:`,
    }
  }
  const params = good.signatureInput.slice('sig1='.length)

  for (const [name, body] of Object.entries({
    'another authority': await proofOf(key, 'mirror.example'),
    'another key': await proofOf(newKey(), host),
    'another signature': { ...good, signature: (await proofOf(newKey(), host)).signature },
    'a key id of another key': {
      ...good,
      signatureInput: (await proofOf(newKey(), host)).signatureInput,
    },
  })) {
    assertRefused(await upload(body), 401, 'INVALID_SIGNATURE', new RegExp(host))
    assert.ok(name)
  }

  const request = await signedHeaders(service, did, key, { url: `${service.url}/` })
  const header = (name: string) => request.find(([each]) => each === name)?.[1] ?? ''
  const invalid = {
    'a signed request': {
      signatureInput: header('signature-input'),
      signature: header('signature'),
    },
    'more components': signed(params.replace('req)', 'req "@method";req)')),
    'the authority of the response': signed(params.replace(';req', '')),
    'another tag': signed(params.replace('http-message-signatures-directory', 'web-bot-auth')),
    'no tag': signed(params.replace(/;tag=.*$/, '')),
    'no expires': signed(params.replace(/;expires=\d+/, '')),
    'an unknown parameter': signed(`${params};x=1`),
    'another algorithm': signed(`${params};alg="rsa-pss-sha512"`),
    'two members': {
      signatureInput: `${good.signatureInput}, b=${params}`,
      signature: `${good.signature}, b=${good.signature.slice('sig1='.length)}`,
    },
    'another label': { ...good, signature: good.signature.replace('sig1', 'sig2') },
    'a line break': { ...good, signatureInput: `${good.signatureInput}\r\nX-Injected: 1` },
    'an old one': await proofOf(key, host, { created: now - 301 }),
    'one of the future': await proofOf(key, host, { created: now + 90 }),
    'an expired one': await proofOf(key, host, { lifetime: 0 }),
    'one for too long': await proofOf(key, host, { lifetime: 30 * 86_400 + 1 }),
  }
  for (const [name, body] of Object.entries(invalid)) {
    const answer = await upload(body)
    assert.equal(answer.status, 400, name)
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  assert.equal(await isServed(), false)

  assert.equal((await upload(good)).status, 200)
  const earlier = await proofOf(key, host, { created: now - 60 })
  assertRefused(await upload(earlier), 409, 'CONFLICT', /stored/)
})

test('a signature over a key set is neither an answer to a challenge nor a signed request', async (t) => {
  const { service, key, did, host } = await start(t)
  const proof = await proofOf(key, host)
  const params = proof.signatureInput.slice('sig1='.length)
  const challenge = Buffer.from(directoryMessage(host, params)).toString('utf8')
  const answer = await ask(service, '/api/v1/agent/verify', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ publicKey: key.publicKey, challenge, signature: key.sign(challenge) }),
  })
  assertRefused(answer, 400, 'VALIDATION_ERROR', /signature base/)
  const headers = [
    ['Host', host],
    ['Signature-Agent', `sig1="${service.url}/agent/${did.slice(-24)}/jwks.json"`],
    ['Signature-Input', proof.signatureInput],
    ['Signature', proof.signature],
  ]
  const verdict = await ask(service, '/api/v1/verify-request', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      method: 'GET',
      url: `${service.url}/`,
      headers,
      audience: service.url,
    }),
  })
  assert.equal(jsonOf<{ reason: string }>(verdict).reason, 'unsigned')
})
