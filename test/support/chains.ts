import assert from 'node:assert/strict'
import { randomBytes, sign } from 'node:crypto'
import { appendHop } from '@countersign/protocol'
import { jsonOf } from './answer.ts'
import { post } from './ask.ts'
import { newKey, type TestKey } from './key.ts'
import type { TestService } from './service.ts'
import { signedHeaders } from './sign-request.ts'

const SHOP = 'https://shop.example'

/** A worker of an agent, and the chain that it sends. */
export interface Hop {
  readonly did: string
  readonly delegate: TestKey
  readonly chain: string
}

/** Delegates to a new key for an hour, under a certificate. */
export async function delegateTo(
  { did, key }: { readonly did: string; readonly key: TestKey },
  certificate: string,
  now: () => number,
): Promise<Hop> {
  const delegate = newKey()
  const issuedAt = Math.floor(now() / 1000)
  const hop = {
    publicKey: new Uint8Array(Buffer.from(delegate.publicKey, 'base64')),
    issuedAt,
    expiresAt: issuedAt + 3600,
    nonce: randomBytes(18).toString('base64url'),
    maxDepth: 0,
    limits: { origins: [SHOP], methods: null, paths: null, mcp: null },
  }
  const signer = async (message: Uint8Array) => new Uint8Array(sign(null, message, key.privateKey))
  return { did, delegate, chain: await appendHop(certificate, hop, signer) }
}

/** What the service says of a request of a worker: why it is refused, or null. */
export async function chainVerdict(
  service: TestService,
  { did, delegate, chain }: Hop,
  now: () => number,
): Promise<string | null> {
  const url = `${SHOP}/orders`
  const headers = await signedHeaders(service, did, delegate, {
    url,
    headers: [['ServiceID-Certificate', chain]],
    createdAt: now(),
  })
  const delegation = { maxDepth: 3, maxSeconds: 86_400, mcp: false }
  const request = { method: 'GET', url, headers, audience: SHOP, delegation }
  const answer = await post(service, '/api/v1/verify-request', request)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<{ reason: string | null }>(answer).reason
}
