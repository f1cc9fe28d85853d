import {
  CodedError,
  type Did,
  didOf,
  gradeOf,
  type Naming,
  randomTail,
  TAIL_LENGTH,
} from '@countersign/protocol'
import { evidenceOfVerification } from '../../accounts/verification-table.ts'
import type { Batch, ClaimTokenRow, Outcome, Tx } from '../../database/database.ts'
import type { AgentEvent } from '../../database/event-table.ts'
import { thumbprintBytes } from '../../secrets/ed25519.ts'
import type { AppliedChange } from '../changes/change.ts'
import { eventOf, type LoggedChange, loggedChangeOf, queueRowOf } from '../changes/changes.ts'
import { type KeyReuse, keyUseRefusal } from '../keys/key-use.ts'
import {
  type ClaimState,
  claimStates,
  type DecodedClaim,
  insertMinted,
  type NewAgent,
} from './claim-table.ts'

/** The transparency log, as claims need it. */
export interface ClaimLog {
  /**
   * Gives claims their places in the log, in the transaction that makes them.
   * @returns false: they must be queued, because this process has to compare the log with its anchor first
   */
  appendClaims(tx: Tx, claims: readonly LoggedChange[]): Promise<boolean>
}

export interface MintDeps {
  readonly naming: Naming
  /** Null: claims are queued for the log. */
  readonly log: ClaimLog | null
  readonly keyReuse: KeyReuse
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

interface MintItem {
  readonly deps: MintDeps
  readonly claim: DecodedClaim
}

/** Mints the DIDs of concurrent claims in one transaction, with the same outcomes as one claim after another. */
export const mintBatch: Batch<MintItem, Did> = (tx, items) => {
  const [first] = items as [MintItem]
  return mint(
    first.deps,
    tx,
    items.map(({ claim }) => claim),
  )
}

/**
 * Mints the DIDs of several claims in one transaction. All reads come first, which is safe because there are no other writers
 * during the transaction.
 * @returns for each claim, in the same order, its DID or a CodedError NOT_FOUND, TOKEN_EXPIRED or KEY_ALREADY_CLAIMED
 * @throws Error if a write contradicts what was read. The transaction must then be rolled back.
 */
export async function mint(
  deps: MintDeps,
  tx: Tx,
  claims: readonly DecodedClaim[],
): Promise<Outcome<Did>[]> {
  const at = deps.now()
  const states = await claimStates(tx, claims, at)
  const earlier = new EarlierMints()
  const agents: NewAgent[] = []
  const tokenHashes: Uint8Array[] = []
  const events: AgentEvent[] = []
  const logged: LoggedChange[] = []
  const random = drawnAtOnce(deps.randomBytes, claims.length * BYTES_FOR_TAIL)
  const outcomes = claims.map((claim, i): Outcome<Did> => {
    const { tokenHash, publicKey, agentId } = claim
    const state = earlier.applyTo(states[i] as ClaimState, claim)
    const refusal = tokenRefusal(state.token, at) ?? keyUseRefusal(deps.keyReuse, state)
    if (refusal !== null) return { error: refusal }
    const { owner_id: owner, issued_by: issuedBy } = state.token as ClaimTokenRow
    const tail = randomTail(random)
    const agent = {
      seq: tx.nextSeq(),
      tail,
      public_key: publicKey,
      agent_id: agentId,
      owner_id: owner,
      claimed_at: at,
      grade: gradeAtClaim(state, at),
      key_thumbprint: thumbprintBytes(publicKey),
      // The end of the membership voids the token, so it is live here.
      responsible: issuedBy === '' ? null : issuedBy,
    }
    agents.push(agent)
    const applied = appliedClaim(agent, claim)
    events.push(eventOf(applied))
    logged.push(loggedChangeOf(applied) as LoggedChange)
    tokenHashes.push(tokenHash)
    earlier.add(claim, owner, at)
    return { value: didOf(deps.naming, tail) }
  })
  if (agents.length > 0) {
    const hasPlace = (await deps.log?.appendClaims(tx, logged)) ?? false
    const queued = hasPlace ? [] : logged.map(queueRowOf)
    await insertMinted(tx, { tokenHashes, agents, events, queued }, at)
  }
  return outcomes
}

/** The error for a token that cannot be redeemed (NOT_FOUND or TOKEN_EXPIRED), or null. */
export function tokenRefusal(token: ClaimTokenRow | undefined, now: number): CodedError | null {
  if (token === undefined) {
    return new CodedError('NOT_FOUND', 'This claim token was never issued.')
  }
  if (token.used_at !== null) {
    return new CodedError('TOKEN_EXPIRED', 'This claim token has been used.')
  }
  if (token.superseded_at !== null) {
    return new CodedError(
      'TOKEN_EXPIRED',
      'This claim token is void: it was replaced by a newer one, its owner was suspended, or the member who created it has left.',
    )
  }
  if (token.expires_at > now) return null
  return new CodedError(
    'TOKEN_EXPIRED',
    'This claim token has expired after 10 minutes. Create a new one.',
  )
}

/** The successful claims so far of one transaction, which are not yet written to the database. */
class EarlierMints {
  readonly #usedTokens = new Map<string, number>()
  readonly #agentsOfKey = new Map<string, { readonly owner: number; readonly agentId: string }[]>()

  add({ tokenHash, publicKey, agentId }: DecodedClaim, owner: number, at: number): void {
    this.#usedTokens.set(textOf(tokenHash), at)
    const key = textOf(publicKey)
    this.#agentsOfKey.set(key, [...(this.#agentsOfKey.get(key) ?? []), { owner, agentId }])
  }

  /** The state of a claim, updated with the earlier successful claims. */
  applyTo(state: ClaimState, { tokenHash, publicKey, agentId }: DecodedClaim): ClaimState {
    const { token, isPairTaken, isHeldByOtherOwner } = state
    const usedAt = this.#usedTokens.get(textOf(tokenHash))
    const agents = this.#agentsOfKey.get(textOf(publicKey)) ?? []
    if (usedAt === undefined && agents.length === 0) return state
    return {
      ...state,
      token: token && { ...token, used_at: usedAt ?? token.used_at },
      isPairTaken: isPairTaken || agents.some((each) => each.agentId === agentId),
      isHeldByOtherOwner:
        isHeldByOtherOwner || agents.some(({ owner }) => owner !== token?.owner_id),
    }
  }
}

/** The first draw of `randomTail`. */
const BYTES_FOR_TAIL = 2 * TAIL_LENGTH

/** Hands out random bytes of one draw, and draws again after its end: each draw takes 3 µs, of whatever length. */
function drawnAtOnce(
  randomBytes: (count: number) => Uint8Array,
  expected: number,
): (count: number) => Uint8Array {
  let left = new Uint8Array()
  return (count) => {
    if (left.length < count) left = Uint8Array.from(randomBytes(Math.max(count, expected)))
    const drawn = left.subarray(0, count)
    left = left.subarray(count)
    return drawn
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

/** The grade of an agent at its claim, when it has no proven channels. */
function gradeAtClaim({ verifications }: ClaimState, now: number): NewAgent['grade'] {
  const verified = verifications.map(evidenceOfVerification)
  return gradeOf({ status: 'active', verifications: verified, channels: [], now }).grade
}

/** A claim, as its event and the log tell it. The signature is evidence: it covers the claim token, which is not published. */
function appliedClaim(
  agent: NewAgent & { readonly key_thumbprint: Uint8Array },
  { tokenHash, publicKey, agentId, signature }: DecodedClaim,
): AppliedChange {
  const evidence = {
    agentId,
    claimTokenHash: base64Of(tokenHash),
    publicKey: base64Of(publicKey),
    signature: base64Of(signature),
  }
  const after = { ...agent, status: 'active', key_sequence: 1, delegation_depth: 0 } as const
  const change = { type: 'agent.claimed', evidence } as const
  return { change, before: after, after, seq: agent.seq, at: agent.claimed_at }
}

/** `encodeBase64` by Node, which is faster. */
function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
}
