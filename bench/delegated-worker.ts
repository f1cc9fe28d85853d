import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { Signer } from '@countersign/sdk'
import { appendHop, namingFor, signRequest } from '../packages/protocol/src/index.ts'

const SHOP = 'https://shop.example'

/** An agent that delegates, and what it sends. */
interface DelegatingAgent {
  readonly did: string
  readonly certificate: string
  readonly staple: string | null
  readonly signer: Signer
  readonly issuer: string
}

/** A worker with a new chain of so many hops. @returns a function that signs a request */
export async function newWorker(
  { did, certificate, staple, signer, issuer }: DelegatingAgent,
  hops: number,
): Promise<() => Promise<Request>> {
  const now = Math.floor(Date.now() / 1000)
  let chain = certificate
  let by = (message: Uint8Array) => signer.sign(message)
  let publicKey = signer.publicKey
  for (let at = 0; at < hops; at += 1) {
    const keys = generateKeyPairSync('ed25519')
    const { x = '' } = keys.publicKey.export({ format: 'jwk' })
    publicKey = new Uint8Array(Buffer.from(x, 'base64url'))
    const hop = {
      publicKey,
      issuedAt: now,
      expiresAt: now + 600,
      nonce: randomBytes(18).toString('base64url'),
      maxDepth: hops - 1 - at,
      limits: { origins: [SHOP], methods: ['GET'], paths: ['/orders'], mcp: null },
    }
    chain = await appendHop(chain, hop, by)
    by = async (message) => new Uint8Array(sign(null, message, keys.privateKey))
  }
  const naming = namingFor()
  const headers: [string, string][] = [
    [naming.idHeader, did],
    [naming.tokenHeaders.certificate, chain],
  ]
  if (staple !== null) headers.push([naming.tokenHeaders.status, staple])
  const request = { method: 'GET', url: `${SHOP}/orders`, headers, body: null }
  const url = `${issuer}/agent/${did.slice(-24)}/jwks.json`
  return async () => {
    const added = await signRequest(request, {
      publicKey,
      sign: by,
      signatureAgent: { dialect: 'ietf', url },
      naming,
      createdAt: Date.now(),
      nonce: randomBytes(18).toString('base64url'),
    })
    return new Request(request.url, { headers: [...headers, ...added] as [string, string][] })
  }
}
