import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import * as messageSig from 'http-message-sig'
import { httpbis } from 'http-message-signatures'
import * as webBotAuth from 'web-bot-auth'
import {
  type RawRequest,
  type RequestToSign,
  type RequestVerifierOptions,
  requestVerifier,
  type SignatureAgent,
  signRequest,
} from '../../src/index.ts'
import { naming, optionsFor, signingKey, signWith, vectors } from '../support/signed-requests.ts'
import { bytesOf } from '../support/vectors.ts'

// Independent implementations of RFC 9421: what one side signs, the other verifies. They read the system's clock.

const { agent } = vectors.keys
const privateKey = createPrivateKey({
  key: Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    bytesOf(agent.seedHex),
  ]),
  format: 'der',
  type: 'pkcs8',
})
const publicKey = createPublicKey(privateKey)
const isSignature = (data: Uint8Array, signature: Uint8Array) =>
  verify(null, data, publicKey, signature)

const ietf: SignatureAgent = { dialect: 'ietf', url: agent.signatureAgent }
const legacy: SignatureAgent = { dialect: 'legacy', url: 'https://agent.example' }

const requests: readonly RequestToSign[] = [
  { method: 'GET', url: 'https://shop.example/', headers: [], body: null },
  { method: 'DELETE', url: 'https://shop.example/a%2Fb?q=a%20b&c=%22', headers: [], body: null },
  {
    method: 'POST',
    url: 'https://shop.example/orders?id=1',
    headers: [
      ['content-type', 'application/json'],
      ['authorization', 'Bearer t'],
      ['serviceid', agent.did],
    ],
    body: new TextEncoder().encode('{"item":1}'),
  },
]

/** Every header, signed here. */
async function signedHere(request: RequestToSign, signatureAgent: SignatureAgent = ietf) {
  const added = await signRequest(request, {
    publicKey: bytesOf(agent.publicKeyHex),
    sign: (message) => signWith(agent.seedHex, message),
    signatureAgent,
    naming,
    createdAt: Date.now(),
    nonce: 'n'.repeat(24),
  })
  return [...request.headers, ...added]
}

function raw(request: RequestToSign, headers: RawRequest['headers']): RawRequest {
  const { origin, host } = new URL(request.url)
  const target = request.url.slice(origin.length)
  const { method, body } = request
  return { method, scheme: 'https', authority: host, target, headers, body }
}

function verifiedHere(request: RawRequest, changes: Partial<RequestVerifierOptions> = {}) {
  const options = { now: Date.now, nonces: null, ...changes }
  return requestVerifier(optionsFor(options))(request)
}

/** What an agent covers, in the notation of http-message-signatures. */
const componentsOf = ({ method, url, headers }: RequestToSign) => [
  '@method',
  '@authority',
  '@path',
  ...(url.includes('?') ? ['@query'] : []),
  ...(method === 'POST' ? ['content-digest'] : []),
  ...headers.map(([name]) => name),
]

/** The headers before a signature: those of the request, its digest and Signature-Agent. */
async function unsignedHeaders(request: RequestToSign, signatureAgent: SignatureAgent = ietf) {
  const headers = await signedHere(request, signatureAgent)
  return headers.filter(([name]) => name !== 'signature' && name !== 'signature-input')
}

test('signed here, verified by http-message-signatures', async () => {
  for (const request of requests) {
    const { method, url } = request
    const verified = async (headers: readonly (readonly [string, string])[], at = url) =>
      httpbis.verifyMessage(
        {
          keyLookup: async ({ keyid }) =>
            keyid === agent.keyid
              ? { verify: async (data, signature) => isSignature(data, signature) }
              : null,
          requiredParams: ['created', 'expires', 'keyid', 'nonce', 'tag'],
          requiredFields: ['@method', '@authority', '@path', 'signature-agent'],
        },
        { method, url: at, headers: Object.fromEntries(headers) },
      )
    const headers = await signedHere(request)
    assert.equal(await verified(headers), true, url)
    assert.equal(await verified(headers, `${new URL(url).origin}/other`), false, url)
  }
})

test('signed by http-message-signatures, verified here', async () => {
  for (const request of requests) {
    const { method, url } = request
    const created = new Date()
    const headers = Object.fromEntries(await unsignedHeaders(request))
    const signed = await httpbis.signMessage(
      {
        key: { id: agent.keyid, sign: async (data) => sign(null, data, privateKey) },
        name: 'another-label',
        fields: [...componentsOf(request), 'signature-agent;key="sig1"'],
        params: ['created', 'expires', 'keyid', 'nonce', 'tag'],
        paramValues: {
          created,
          expires: new Date(created.getTime() + 60_000),
          nonce: 'n'.repeat(22),
          tag: 'web-bot-auth',
        },
      },
      { method, url, headers },
    )
    const received = Object.entries(signed.headers).map(
      ([name, value]) => [name, String(value)] as const,
    )
    const { reason, did } = await verifiedHere(raw(request, received))
    assert.deepEqual([reason, did], [null, agent.did], url)
  }
})

test('signed here, verified by http-message-sig', async () => {
  for (const request of requests) {
    const { method, url } = request
    const fields = (await signedHere(request)).map(([name, value]) => ({ name, value }))
    const message = { kind: 'request', method, targetUri: url, fields } as const
    const verified = await messageSig.verifySignature(message, {
      policy: {
        algorithms: ['ed25519'],
        requiredComponents: ['@method', '@authority', '@path'],
        requiredParameters: ['created', 'expires', 'keyid', 'nonce', 'tag'],
      },
      resolveVerifier: () => ({ algorithm: 'ed25519', verify: isSignature }),
    })
    assert.equal(verified.parameters.keyid, agent.keyid)
  }
})

test('signed by http-message-sig, verified here', async () => {
  for (const request of requests) {
    const { method, url } = request
    const headers = await unsignedHeaders(request)
    const fields = headers.map(([name, value]) => ({ name, value }))
    const created = Math.floor(Date.now() / 1000)
    const parameters = {
      created,
      expires: created + 60,
      keyid: agent.keyid,
      alg: 'ed25519',
      nonce: 'n'.repeat(22),
      tag: 'web-bot-auth',
    }
    const { signature, signatureInput } = await messageSig.createSignature(
      { kind: 'request', method, targetUri: url, fields },
      {
        label: 'x',
        components: [
          ...componentsOf(request),
          messageSig.component('signature-agent', { key: 'sig1' }),
        ],
        parameters,
        signer: { algorithm: 'ed25519', sign: (data) => sign(null, data, privateKey) },
      },
    )
    const received = [
      ...headers,
      ['signature', signature] as const,
      ['signature-input', signatureInput] as const,
    ]
    const { reason, did } = await verifiedHere(raw(request, received))
    assert.deepEqual([reason, did], [null, agent.did], url)
  }
})

test('signed here in the dialect legacy, verified by web-bot-auth', async () => {
  for (const request of requests) {
    const { method, url, body } = request
    const headers = await signedHere(request, legacy)
    const message = new Request(url, { method, headers: headers.map(([...pair]) => pair), body })
    let keyid: unknown
    await webBotAuth.verify(message, (data, signature, params) => {
      assert.ok(isSignature(Buffer.from(data), signature), url)
      keyid = params.keyid
    })
    assert.equal(keyid, agent.keyid)
  }
})

test('signed by web-bot-auth, verified here in the profile wba, for safe methods and keys without a DID', async () => {
  const created = new Date()
  const sentBy = async (method: string) => {
    const url = 'https://shop.example/orders'
    const headers = { 'signature-agent': '"https://agent.example"' }
    const signer = {
      alg: 'ed25519' as const,
      keyid: agent.keyid,
      sign: (data: string) => sign(null, Buffer.from(data), privateKey),
    }
    const expires = new Date(created.getTime() + 60_000)
    const message = new Request(url, { method, headers })
    const added = await webBotAuth.signatureHeaders(message, signer, { created, expires })
    const all = [...Object.entries(headers), ...Object.entries(added)]
    return raw({ method, url, headers: [], body: null }, all as [string, string][])
  }
  const findKey = () => ({ ...signingKey(agent), did: null, status: null })
  const wba = () => ({ profile: 'wba', maxLifetimeSeconds: 86_400 }) as const
  const request = await sentBy('GET')
  const result = await verifiedHere(request, { rulesOf: wba, findKey })
  assert.deepEqual([result.verdict, result.profile, result.did], ['verified', 'wba', null])
  const reasonOf = async (each: RawRequest, changes: Partial<RequestVerifierOptions>) =>
    (await verifiedHere(each, changes)).reason
  assert.equal(await reasonOf(request, { findKey }), 'components')
  assert.equal(await reasonOf(await sentBy('POST'), { rulesOf: wba, findKey }), 'components')
  const vouched = () => signingKey(agent)
  assert.equal(await reasonOf(request, { rulesOf: wba, findKey: vouched }), 'components')
  const elsewhere = { ...request, authority: 'evil.example' }
  assert.equal(await reasonOf(elsewhere, { rulesOf: wba, findKey }), 'authority')
})
