import { randomBytes } from 'node:crypto'
import { appendHop, encodeBase64Url, TOKEN_TYPES, utf8 } from '@countersign/protocol'
import type { SimulatedSigner } from './simulated-signer.ts'

/** As a worker gets it by default, in a policy's default limits. */
const SECONDS = 600

export interface SimulatedChain {
  /** In the form of a certificate, with a signature of zeros: the service signs nothing about a made-up key. */
  readonly certificate: string
  readonly chain: string
}

/** A chain from the simulated key of an agent to another one, for one site. @param origin of the site */
export async function simulatedChain(
  agent: SimulatedSigner,
  delegate: SimulatedSigner,
  did: string,
  origin: string,
): Promise<SimulatedChain> {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: 'EdDSA', kid: 'simulated', typ: TOKEN_TYPES.certificate }
  const x = encodeBase64Url(agent.publicKeyBytes)
  const cnf = { jwk: { kty: 'OKP', crv: 'Ed25519', x } }
  const claims = { sub: did, exp: now + SECONDS, cnf, keySequence: 1, maxDelegationDepth: 1 }
  const parts = [header, claims].map((each) => encodeBase64Url(utf8(JSON.stringify(each))))
  const certificate = `${parts.join('.')}.${encodeBase64Url(new Uint8Array(64))}`
  const hop = {
    publicKey: delegate.publicKeyBytes,
    issuedAt: now,
    expiresAt: now + SECONDS,
    nonce: randomBytes(18).toString('base64url'),
    maxDepth: 0,
    limits: { origins: [origin], methods: null, paths: null, mcp: null },
  }
  const chain = await appendHop(certificate, hop, (message) => agent.signBytes(message))
  return { certificate, chain }
}
