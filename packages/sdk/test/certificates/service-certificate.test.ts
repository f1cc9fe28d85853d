import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { IssuerClient } from '../../src/certificates/issuer-client.ts'
import { Registry } from '../../src/registry.ts'
import { failsWith } from '../support/fails.ts'

interface Vectors {
  readonly issuer: string
  readonly now: number
  readonly keySet: object
  readonly statusList: string
  readonly certificates: { readonly valid: readonly { token: string; did: string }[] }
}

const file = new URL('../../../../vectors/certificates.json', import.meta.url)
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors
const [{ token, did }] = vectors.certificates.valid as [{ token: string; did: string }]
const INTERNAL = 'http://identity.internal:8080'
const now = () => vectors.now

function answering(base: string) {
  const asked: string[] = []
  const fetch = async (input: unknown) => {
    asked.push(String(input))
    if (input === `${base}/.well-known/jwks.json`) return Response.json(vectors.keySet)
    assert.equal(input, `${base}/status/1`)
    return new Response(vectors.statusList)
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

test('a Registry verifies certificates of its service, also at an internal address', async () => {
  const { asked, fetch } = answering(INTERNAL)
  const registry = new Registry(INTERNAL, { fetch })
  const { issuer } = vectors
  const certificate = await registry.verifyCertificate(token, { issuer, now })
  assert.deepEqual([certificate.did, certificate.issuer], [did, issuer])
  assert.deepEqual(asked, [`${INTERNAL}/.well-known/jwks.json`, `${INTERNAL}/status/1`])
  // Without `issuer`, the certificate is that of somebody else.
  await failsWith('INVALID_ARGUMENT', () => registry.verifyCertificate(token, { now }))
  const other = new Registry('https://other.example', { fetch })
  await failsWith('INVALID_TOKEN', other.verifyCertificate(token, { now }))
  assert.equal(asked.length, 2, 'nothing is fetched for a token that is refused anyway')
})

test('a status list is no older than was asked for, whatever it says of itself', async () => {
  const { asked, fetch } = answering(vectors.issuer)
  let elapsed = 0
  const client = new IssuerClient(fetch, null, () => elapsed)
  const keysFor = (kid: string) => client.keys(vectors.issuer, kid)
  const uri = `${vectors.issuer}/status/1`
  const listsAsked = async (seconds: number, maxAgeSeconds?: number) => {
    elapsed = seconds * 1000
    await client.statusList(vectors.issuer, uri, { now: vectors.now, keysFor, maxAgeSeconds })
    return asked.filter((each) => each === uri).length
  }
  assert.equal(await listsAsked(0, 5), 1)
  assert.equal(await listsAsked(4.9, 5), 1)
  assert.equal(await listsAsked(4.9), 1)
  assert.equal(await listsAsked(5, 5), 2)
  assert.equal(await listsAsked(29), 2, 'the list says 30 seconds')
  assert.equal(await listsAsked(36), 3)
})
