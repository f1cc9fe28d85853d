import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { calculateJwkThumbprintUri, compactVerify, decodeJwt, importJWK, type JWK } from 'jose'

interface Vectors {
  readonly keySet: { readonly keys: readonly JWK[] }
  readonly valid: readonly {
    readonly name: string
    readonly request: { readonly headers: readonly (readonly [string, string])[] }
    readonly hops: readonly object[]
  }[]
}

const file = new URL('../../../../vectors/delegation.json', import.meta.url)
const { keySet, valid } = JSON.parse(readFileSync(file, 'utf8')) as Vectors

interface Payload {
  readonly aud: string
  readonly sd_hash: string
  readonly delegate_payload: readonly [{ readonly cnf: { readonly jwk: JWK } }]
}

test('jose verifies each token of a chain with the key in the one before it', async () => {
  const depths = new Set<number>()
  for (const { name, request, hops } of valid) {
    const chain = request.headers.find(([header]) => header === 'ServiceID-Certificate')?.[1] ?? ''
    const [certificate = '', ...tokens] = chain.split('~').filter((each) => each !== '')
    assert.equal(tokens.length, hops.length, name)
    const issued = keySet.keys.map(async (key) =>
      compactVerify(certificate, await importJWK(key, key.kty === 'EC' ? 'ES256' : 'EdDSA')),
    )
    await Promise.any(issued)
    let { jwk } = decodeJwt<{ cnf: { jwk: JWK } }>(certificate).cnf
    let before = certificate
    for (const token of tokens) {
      const { payload, protectedHeader } = await compactVerify(token, await importJWK(jwk, 'EdDSA'))
      const hop = JSON.parse(Buffer.from(payload).toString('utf8')) as Payload
      assert.equal(protectedHeader.typ, 'kb+sd-jwt+kb')
      assert.equal(hop.sd_hash, createHash('sha256').update(`${before}~`).digest('base64url'), name)
      jwk = hop.delegate_payload[0].cnf.jwk
      assert.equal(hop.aud, await calculateJwkThumbprintUri(jwk), name)
      before = token
    }
    depths.add(tokens.length)
  }
  assert.deepEqual([...depths].sort(), [1, 2, 3])
})
