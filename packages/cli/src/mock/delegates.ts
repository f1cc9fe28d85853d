import { createPrivateKey, randomBytes, sign } from 'node:crypto'
import { appendHop, type DelegationLimits } from '@countersign/protocol'
import { currentKey, DELEGATING, delegateKey, type MockAgent, type MockKey } from './agents.ts'
import type { MockIssuer } from './issuer.ts'

/** A key that an agent has delegated to, with its chain. */
export interface MockDelegate {
  /** What becomes of its chain. */
  readonly name: 'accepted' | 'expired' | 'ended'
  readonly agent: MockAgent
  readonly key: MockKey
  readonly chain: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

const HOUR = 3_600

/**
 * Three delegates of one agent, with the same keys at each start. Their chains last for an hour, as most sites accept.
 * @param now milliseconds since 1970
 */
export async function mockDelegates(
  issuer: MockIssuer,
  agents: readonly MockAgent[],
  limits: DelegationLimits,
  now: number,
): Promise<readonly MockDelegate[]> {
  const agent = agents.find(({ name }) => name === DELEGATING)
  if (agent === undefined) throw new Error(`The mock has no agent ${DELEGATING}.`)
  const certificate = await issuer.certificateOf(agent, currentKey(agent))
  const ended = await issuer.endedCertificateOf(agent)
  const begin = Math.floor(now / 1000)
  return Promise.all([
    delegated(agent, 'accepted', { certificate, issuedAt: begin, limits }),
    delegated(agent, 'expired', { certificate, issuedAt: begin - 2 * HOUR, limits }),
    delegated(agent, 'ended', { certificate: ended, issuedAt: begin, limits }),
  ])
}

async function delegated(
  agent: MockAgent,
  name: MockDelegate['name'],
  {
    certificate,
    issuedAt,
    limits,
  }: {
    readonly certificate: string
    /** Unix seconds. */
    readonly issuedAt: number
    readonly limits: DelegationLimits
  },
): Promise<MockDelegate> {
  const key = delegateKey(name)
  const expiresAt = issuedAt + HOUR
  const nonce = randomBytes(18).toString('base64url')
  const hop = { publicKey: key.publicKey, issuedAt, expiresAt, nonce, maxDepth: 0, limits }
  const privateKey = createPrivateKey(currentKey(agent).pem)
  const chain = await appendHop(certificate, hop, (message) => sign(null, message, privateKey))
  return { name, agent, key, chain, expiresAt: expiresAt * 1000 }
}
