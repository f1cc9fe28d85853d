import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import {
  headerFields,
  isInnerList,
  keyThumbprint,
  parseDictionary,
  type RawRequest,
  readComponents,
  requestVerifier,
  signatureBase,
} from '../../src/index.ts'
import { assertReason, optionsFor } from '../support/signed-requests.ts'

// The Ed25519 test vectors of draft-ietf-webbotauth-httpsig-protocol, appendix E, by the key of RFC 9421 appendix B.1.4. Those for
// RSA use an algorithm that is not accepted here.

const KEY = { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' }
const PRIVATE = { ...KEY, d: 'n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU' }
const CREATED = 1_735_689_600
const keyid = keyThumbprint(new Uint8Array(Buffer.from(KEY.x, 'base64url')))

const paramsOf = (nonce: string) =>
  `;created=${CREATED};keyid="${keyid}";alg="ed25519";expires=4889289600;nonce="${nonce}";tag="web-bot-auth"`

const VECTORS = {
  'without Signature-Agent': {
    agent: null,
    label: 'sig1',
    input: `("@authority")${paramsOf('zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==')}`,
    signature:
      'QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==',
    // The profile needs to know whose key it is.
    reason: 'malformed',
  },
  'with Signature-Agent': {
    agent: 'agent2="https://signature-agent.test"',
    label: 'sig2',
    input: `("@authority" "signature-agent";key="agent2")${paramsOf('n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==')}`,
    signature:
      'RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==',
    // Valid for 100 years, so that it can be tested at any time.
    reason: 'lifetime',
  },
} as const

function requestOf({ agent, label, input, signature }: (typeof VECTORS)[keyof typeof VECTORS]) {
  const headers: [string, string][] = [
    ...(agent === null ? [] : [['Signature-Agent', agent] as [string, string]]),
    ['Signature-Input', `${label}=${input}`],
    ['Signature', `${label}=:${signature}:`],
  ]
  const target = '/path/to/resource'
  return { method: 'GET', scheme: 'https', authority: 'example.com', target, headers } as const
}

function baseOf({ headers }: RawRequest, label: string, input: string): Buffer {
  const member = parseDictionary(`${label}=${input}`).get(label)
  assert.ok(member !== undefined && isInnerList(member))
  const parts = {
    method: 'GET',
    origin: 'https://example.com',
    path: '/path/to/resource',
    query: null,
    fields: headerFields(headers),
  }
  return Buffer.from(signatureBase(parts, readComponents(member), input))
}

const options = {
  audiences: ['https://example.com'],
  now: () => (CREATED + 1) * 1000,
  profile: 'wba',
  findKey: () => ({
    publicKey: new Uint8Array(Buffer.from(KEY.x, 'base64url')),
    did: null,
    status: null,
  }),
} as const

for (const [name, vector] of Object.entries(VECTORS)) {
  test(`the draft's vector ${name}: the same signature base and signature; refused for what this profile adds`, async () => {
    const request = requestOf(vector)
    const base = baseOf(request, vector.label, vector.input)
    const signature = Buffer.from(vector.signature, 'base64')
    assert.ok(verify(null, base, createPublicKey({ key: KEY, format: 'jwk' }), signature))
    const ours = sign(null, base, createPrivateKey({ key: PRIVATE, format: 'jwk' }))
    assert.equal(ours.toString('base64'), vector.signature)
    const result = await requestVerifier(optionsFor({ ...options, allowTestKeys: true }))(request)
    assertReason(result, vector.reason)
  })
}

test("the draft's vector with a lifetime of a minute is verified, and refused as a published key without the test option", async () => {
  const vector = VECTORS['with Signature-Agent']
  const input = vector.input.replace('4889289600', String(CREATED + 60))
  const base = baseOf(requestOf(vector), vector.label, input)
  const signature = sign(null, base, createPrivateKey({ key: PRIVATE, format: 'jwk' }))
  const request = requestOf({ ...vector, input, signature: signature.toString('base64') } as never)
  const verified = await requestVerifier(optionsFor({ ...options, allowTestKeys: true }))(request)
  assert.deepEqual([verified.verdict, verified.profile], ['verified', 'wba'])
  assertReason(await requestVerifier(optionsFor(options))(request), 'test-key')
})
