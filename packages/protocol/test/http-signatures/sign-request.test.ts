import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptSignatureHeader,
  headerFields,
  type RequestToSign,
  requestVerifier,
  type SignatureAgent,
  StructuredFieldError,
  signRequest,
} from '../../src/index.ts'
import {
  NOW,
  naming,
  optionsFor,
  signingKey,
  signWith,
  vectors,
} from '../support/signed-requests.ts'
import { bytesOf } from '../support/vectors.ts'

const { agent } = vectors.keys
const signer = {
  publicKey: bytesOf(agent.publicKeyHex),
  sign: (message: Uint8Array) => signWith(agent.seedHex, message),
  signatureAgent: {
    dialect: 'ietf',
    url: agent.signatureAgent,
  } satisfies SignatureAgent as SignatureAgent,
  naming,
  createdAt: NOW + 999,
  nonce: 'n'.repeat(24),
}
const plain: RequestToSign = {
  method: 'GET',
  url: 'https://shop.example/orders?id=1',
  headers: [],
  body: null,
}
const bytes = (text: string) => new TextEncoder().encode(text)

async function received(request: RequestToSign, signatureAgent = signer.signatureAgent) {
  const added = await signRequest(request, { ...signer, signatureAgent })
  const url = new URL(request.url)
  const replaced = new Set(added.map(([name]) => name))
  const headers = [...request.headers.filter(([name]) => !replaced.has(name)), ...added]
  const { method, body } = request
  const target = request.url.slice(url.origin.length)
  return { method, scheme: 'https', authority: url.host, target, headers, body } as const
}

const headerOf = ({ headers }: Awaited<ReturnType<typeof received>>, name: string) =>
  headers.find(([each]) => each === name)?.[1] ?? ''

test('a signed request has the components and parameters of the specification, in their order', async () => {
  const request = await received(plain)
  assert.equal(
    headerOf(request, 'signature-input'),
    `sig1=("@method" "@authority" "@path" "@query" "signature-agent";key="sig1");created=${NOW / 1000};expires=${NOW / 1000 + 60};keyid="${agent.keyid}";nonce="${'n'.repeat(24)}";tag="web-bot-auth"`,
  )
  assert.equal(headerOf(request, 'signature-agent'), `sig1="${agent.signatureAgent}"`)
  assert.match(headerOf(request, 'signature'), /^sig1=:[A-Za-z0-9+/]{86}==:$/)
  assert.equal(headerOf(request, 'content-digest'), '')
  const full = await received({
    ...plain,
    method: 'POST',
    url: 'https://shop.example/',
    headers: [
      'mcp-name',
      'serviceid-status',
      'serviceid',
      'authorization',
      'content-type',
      'x-other',
      'mcp-method',
      'idempotency-key',
      'content-encoding',
      'serviceid-certificate',
    ].map((name) => [name, 'v'] as const),
    body: bytes('{}'),
  })
  assert.match(
    headerOf(full, 'signature-input'),
    /^sig1=\("@method" "@authority" "@path" "content-digest" "content-type" "content-encoding" "idempotency-key" "authorization" "mcp-method" "mcp-name" "signature-agent";key="sig1" "serviceid" "serviceid-certificate" "serviceid-status"\);created=/,
  )
})

test('what is signed here is verified here, in every dialect', async () => {
  const own = 'https://agent.example'
  const dialects: [SignatureAgent, field: string, found: string][] = [
    [{ dialect: 'ietf', url: agent.signatureAgent }, `sig1="${agent.signatureAgent}"`, 'ietf'],
    [{ dialect: 'legacy', url: own }, `"${own}"`, 'legacy'],
    [{ dialect: 'origin', url: own }, `sig1="${own}"`, 'origin'],
    [{ dialect: 'ucp', url: `${own}/keys.json` }, `sig1="${own}/keys.json";type=jwks_uri`, 'ucp'],
  ]
  for (const [signatureAgent, field, found] of dialects) {
    for (const body of [null, bytes('{}')]) {
      const method = body === null ? 'GET' : 'PUT'
      const request = await received({ ...plain, method, body }, signatureAgent)
      assert.equal(headerOf(request, 'signature-agent'), field)
      const asked: unknown[] = []
      const verify = requestVerifier(
        optionsFor({
          findKey: (reference) => {
            asked.push(reference)
            return signingKey(agent)
          },
        }),
      )
      const result = await verify(request)
      assert.equal(result.verdict, 'verified', `${found}: ${result.reason}`)
      assert.deepEqual(asked, [
        { signatureAgent: { dialect: found, url: signatureAgent.url }, keyid: agent.keyid },
      ])
    }
  }
})

test('the signer adds a digest to every POST, PUT and PATCH, also with an empty body, and to any content', async () => {
  for (const [method, body, covered] of [
    ['POST', null, true],
    ['PUT', null, true],
    ['PATCH', new Uint8Array(), true],
    ['GET', null, false],
    ['DELETE', null, false],
    ['DELETE', bytes('x'), true],
  ] as const) {
    const request = await received({ ...plain, method, body })
    assert.equal(headerOf(request, 'content-digest') !== '', covered, method)
    const { verdict, digest } = await requestVerifier(optionsFor())(request)
    assert.deepEqual([verdict, digest], ['verified', covered ? 'checked' : 'none'])
  }
})

test('a digest that the caller set is replaced by that of the body', async () => {
  const headers = [['content-digest', 'sha-256=:AAAA:'] as const]
  const request = await received({ ...plain, method: 'POST', headers, body: bytes('{}') })
  assert.equal(request.headers.filter(([name]) => name === 'content-digest').length, 1)
  assert.equal((await requestVerifier(optionsFor())(request)).digest, 'checked')
})

test('what cannot be signed is refused', async () => {
  const refused = [
    { ...plain, url: 'https://shop.example' },
    { ...plain, url: 'https://shop.example/a/../b' },
    { ...plain, url: 'https://shop.example:443/' },
    { ...plain, url: 'https://user@shop.example/' },
    { ...plain, headers: [['content-type', 'a\nb']] },
    { ...plain, headers: [['content-type', '\u00e9']] },
  ] as RequestToSign[]
  for (const each of refused) await assert.rejects(signRequest(each, signer), StructuredFieldError)
  for (const signatureAgent of [
    { dialect: 'ietf', url: 'http://id.example/keys.json' },
    { dialect: 'ietf', url: 'https://ID.example/keys.json' },
    { dialect: 'ietf', url: 'https://id.example/keys.json#a' },
    { dialect: 'legacy', url: 'https://id.example/keys.json' },
    { dialect: 'origin', url: 'https://id.example/keys.json' },
    { dialect: 'ucp', url: 'keys.json' },
  ] as SignatureAgent[]) {
    await assert.rejects(signRequest(plain, { ...signer, signatureAgent }), StructuredFieldError)
  }
})

test('Accept-Signature names what strict covers in such a request', () => {
  const request = {
    method: 'POST',
    scheme: 'https',
    authority: 'shop.example',
    target: '/orders?id=1',
    headers: [
      ['Content-Type', 'application/json'],
      ['ServiceID', agent.did],
    ],
    body: null,
  } as const
  const components =
    '("@method" "@authority" "@path" "@query" "content-digest" "content-type" "signature-agent";key="sig1" "serviceid")'
  assert.equal(
    acceptSignatureHeader(request, 'ServiceID', null),
    `sig1=${components};created;expires;tag="web-bot-auth"`,
  )
  assert.equal(
    acceptSignatureHeader(request, 'ServiceID', 'N'.repeat(44)),
    `sig1=${components};created;expires;nonce="${'N'.repeat(44)}";tag="web-bot-auth"`,
  )
})

/** RFC 9421 appendix B.2.6. */
test('the example of RFC 9421 has this signature base and signature', async () => {
  const { signatureBase, serializeMember, parseDictionary, isInnerList, readComponents } =
    await import('../../src/index.ts')
  const input =
    'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"'
  const member = parseDictionary(input).get('sig-b26')
  assert.ok(member && isInnerList(member))
  const fields = headerFields([
    ['Date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
    ['Content-Type', 'application/json'],
    ['Content-Length', '18'],
  ])
  const parts = {
    method: 'POST',
    origin: 'https://example.com',
    path: '/foo',
    query: '?p=1',
    fields,
  }
  const base = signatureBase(parts, readComponents(member), serializeMember(member))
  const signature = await signWith(vectors.keys.published.seedHex, bytes(base))
  assert.equal(
    Buffer.from(signature).toString('base64'),
    'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==',
  )
})
