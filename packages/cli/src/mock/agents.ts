import { createHash, createPrivateKey } from 'node:crypto'
import {
  type AgentStatus,
  type ChannelEvidence,
  decodeKey,
  keyThumbprint,
  randomTail,
  type Tail,
  type VerificationEvidence,
} from '@countersign/protocol'
import type { PrivateJwk } from '@countersign/sdk'

/** A key of an agent of the mock. It is published on purpose: everyone can sign as the agent. */
export interface MockKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly keyThumbprint: string
  readonly jwk: PrivateJwk
  /** PKCS#8 in PEM. */
  readonly pem: string
}

/** An owner of the mock; `null` as the owner of an agent: the account is deleted. */
interface MockOwner {
  readonly displayName: string
  readonly username: string
  readonly verifications: readonly VerificationEvidence[]
}

/** An agent of the mock. It never changes. */
export interface MockAgent {
  /** Its state, such as `suspended`; also its username. */
  readonly name: string
  readonly tail: Tail
  readonly status: AgentStatus
  readonly statusReason: string | null
  readonly channels: readonly ChannelEvidence[]
  readonly owner: MockOwner | null
  readonly maxDelegationDepth: number
  /** Oldest first; the last one is the current one. */
  readonly keys: readonly MockKey[]
}

/** When all agents were claimed, verified and changed last. */
export const CLAIMED_AT = Date.UTC(2026, 0, 2, 3, 4, 5)

const DOMAIN = channel('domain', 'agent.example', 2)
const CHAT = channel('bluesky', 'agent.example', 1)

const VERIFIED = owner('ada', verification('eid', 'high'))
const BASIC = owner('bob', verification('email', 'low'))
const UNVERIFIED = owner('carol')

/** What distinguishes an agent from an active one of a verified owner, with a domain. */
interface Traits {
  readonly status?: AgentStatus
  readonly statusReason?: string
  readonly owner?: MockOwner | null
  readonly channels?: readonly ChannelEvidence[]
  /** How many keys it has had. */
  readonly keys?: number
  readonly maxDelegationDepth?: number
}

/** The agent with delegates. */
export const DELEGATING = 'delegating'

/** The agent that has asked for approvals. */
export const APPROVING = 'approving'

/** The agents, by the state that they are in. */
const STATES: Readonly<Record<string, Traits>> = {
  'grade-a': {},
  'grade-b': { owner: BASIC },
  'grade-c': { channels: [] },
  'grade-d': { owner: BASIC, channels: [] },
  'grade-e': { owner: UNVERIFIED, channels: [] },
  'chat-only': { channels: [CHAT] },
  suspended: { status: 'suspended', statusReason: 'owner_request' },
  revoked: { status: 'revoked', statusReason: 'owner_request' },
  'rotated-key': { keys: 2 },
  'expired-verification': {
    owner: owner('dan', { ...verification('eid', 'high'), expiresAt: CLAIMED_AT + 86_400_000 }),
  },
  'development-only': { owner: owner('eve', verification('development', 'high')) },
  'owner-deleted': {
    status: 'revoked',
    statusReason: 'owner_deleted',
    owner: null,
    channels: [],
  },
  [DELEGATING]: { maxDelegationDepth: 1 },
  [APPROVING]: {},
}

/** The same agents, DIDs and keys at each start, so that policies and tests can name them. */
export function mockAgents(): readonly MockAgent[] {
  return Object.entries(STATES).map(([name, traits]) => {
    const { status = 'active', statusReason = null, keys = 1 } = traits
    const { channels = [DOMAIN], owner: holder = VERIFIED, maxDelegationDepth = 0 } = traits
    return {
      name,
      tail: randomTail(bytesFor(`tail of ${name}`)),
      status,
      statusReason,
      channels,
      owner: holder,
      maxDelegationDepth,
      keys: Array.from({ length: keys }, (_, i) => keyFor(`key ${i + 1} of ${name}`)),
    }
  })
}

/** The key of an agent that counts. */
export function currentKey({ keys }: MockAgent): MockKey {
  return keys.at(-1) as MockKey
}

/** The key of a delegate: registered nowhere. */
export function delegateKey(name: string): MockKey {
  return keyFor(`key of the delegate ${name}`)
}

/** The same at each start. */
export function approvalId(name: string): string {
  return `ap_${bytesFor(`approval ${name}`)(16).toString('base64url')}`
}

function owner(username: string, ...verifications: readonly VerificationEvidence[]): MockOwner {
  const displayName = `${username.charAt(0).toUpperCase()}${username.slice(1)}`
  return { displayName, username, verifications }
}

function verification(
  provider: string,
  assurance: VerificationEvidence['assurance'],
): VerificationEvidence {
  return { provider, assurance, verifiedAt: CLAIMED_AT, expiresAt: null }
}

function channel(
  kind: string,
  handleOrDomain: string,
  tier: ChannelEvidence['tier'],
): ChannelEvidence {
  return { kind, handleOrDomain, tier, checkedAt: CLAIMED_AT, freshUntil: null }
}

/** DER of a private key up to its seed (RFC 8410 section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

function keyFor(purpose: string): MockKey {
  const der = Buffer.concat([PKCS8_HEAD, bytesFor(purpose)(32)])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x, d } = key.export({ format: 'jwk' }) as PrivateJwk
  const publicKey = decodeKey(Buffer.from(x, 'base64url').toString('base64')) as Uint8Array
  return {
    publicKey,
    keyThumbprint: keyThumbprint(publicKey),
    jwk: { kty: 'OKP', crv: 'Ed25519', x, d },
    pem: key.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

/** Bytes that everyone can compute. @returns a source of `count` bytes, other ones for each call */
function bytesFor(purpose: string): (count: number) => Buffer {
  let call = 0
  return (count) =>
    createHash('shake256', { outputLength: count })
      .update(`countersign mock: ${purpose}, ${call++}`)
      .digest()
}
