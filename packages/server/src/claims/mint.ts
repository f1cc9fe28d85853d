import {
  CodedError,
  type Did,
  didOf,
  encodeBase64,
  gradeOf,
  type Naming,
  randomTail,
} from '@countersign/protocol'
import { factsOfVerification } from '../agents/read-model/rows.ts'
import type { Batch, ClaimTokenRow, Outcome, Tx } from '../core/database/database.ts'
import type { NewEvent } from '../core/database/event-table.ts'
import {
  type ClaimState,
  claimStates,
  type DecodedClaim,
  insertMinted,
  type NewAgent,
} from './claim-table.ts'

export interface MintDeps {
  readonly naming: Naming
  /** Whether two owners may hold live certificates of the same key. */
  readonly keyReuse: 'owner' | 'any'
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

interface Minting {
  readonly deps: MintDeps
  readonly claim: DecodedClaim
}

/** Mints the DIDs of claims that arrive together, each with the outcome that it would have one after another. */
export const MINTING: Batch<Minting, Did> = (tx, items) => {
  const [first] = items as [Minting]
  return mint(
    first.deps,
    tx,
    items.map(({ claim }) => claim),
  )
}

/**
 * Mints the DIDs of several claims in one transaction. It decides from what it reads first, since nobody else writes
 * meanwhile.
 * @returns for each claim, in their order, its DID or a CodedError NOT_FOUND, TOKEN_EXPIRED or KEY_ALREADY_CLAIMED
 * @throws Error if the database contradicts what was read: nothing of it may be committed
 */
export async function mint(
  deps: MintDeps,
  tx: Tx,
  claims: readonly DecodedClaim[],
): Promise<Outcome<Did>[]> {
  const at = deps.now()
  const states = await claimStates(tx, claims, deps.keyReuse === 'owner')
  const minted = new MintedBefore()
  const agents: NewAgent[] = []
  const tokenHashes: Uint8Array[] = []
  const outcomes = claims.map((claim, i): Outcome<Did> => {
    const { tokenHash, publicKey, agentId } = claim
    const state = minted.addTo(states[i] as ClaimState, claim)
    const refusal = refusalOf(deps, state, at)
    if (refusal !== null) return { error: refusal }
    const owner = (state.token as ClaimTokenRow).owner_id
    const tail = randomTail(deps.randomBytes)
    agents.push({
      ...{ seq: tx.nextSeq(), tail, public_key: publicKey, agent_id: agentId },
      ...{ owner_id: owner, claimed_at: at, grade: gradeAtClaim(state, at) },
    })
    tokenHashes.push(tokenHash)
    minted.add(claim, owner, at)
    return { value: didOf(deps.naming, tail) }
  })
  if (agents.length > 0) {
    await insertMinted(tx, { tokenHashes, agents, events: agents.map(claimedEvent) }, at)
  }
  return outcomes
}

function refusalOf(
  { keyReuse }: MintDeps,
  { token, isHeldByAnother, isPairTaken }: ClaimState,
  at: number,
): CodedError | null {
  const refusal = tokenRefusal(token, at)
  if (refusal !== null) return refusal
  if (keyReuse === 'owner' && isHeldByAnother) {
    return new CodedError(
      'KEY_ALREADY_CLAIMED',
      'Another owner has a certificate of this key. It is free again once that one is revoked.',
    )
  }
  if (!isPairTaken) return null
  return new CodedError(
    'KEY_ALREADY_CLAIMED',
    'This key has a certificate under this agentId. Choose another agentId, or revoke that one.',
  )
}

/** Why a token cannot be redeemed, or null. */
export function tokenRefusal(token: ClaimTokenRow | undefined, now: number): CodedError | null {
  if (token === undefined) {
    return new CodedError('NOT_FOUND', 'This claim token was never issued.')
  }
  if (token.used_at !== null) {
    return new CodedError('TOKEN_EXPIRED', 'This claim token has been used.')
  }
  if (token.superseded_at !== null) {
    return new CodedError('TOKEN_EXPIRED', 'This claim token was replaced by a newer one.')
  }
  if (token.expires_at > now) return null
  return new CodedError(
    'TOKEN_EXPIRED',
    'This claim token has expired: it was good for 10 minutes.',
  )
}

/** The claims of one transaction that have succeeded so far: the database does not show them yet. */
class MintedBefore {
  readonly #usedTokens = new Map<string, number>()
  readonly #holders = new Map<string, { readonly owner: number; readonly agentId: string }[]>()

  add({ tokenHash, publicKey, agentId }: DecodedClaim, owner: number, at: number): void {
    this.#usedTokens.set(textOf(tokenHash), at)
    const key = textOf(publicKey)
    this.#holders.set(key, [...(this.#holders.get(key) ?? []), { owner, agentId }])
  }

  /** The state of a claim with what they have changed of it. */
  addTo(state: ClaimState, { tokenHash, publicKey, agentId }: DecodedClaim): ClaimState {
    const { token, isPairTaken, isHeldByAnother } = state
    const usedAt = this.#usedTokens.get(textOf(tokenHash))
    const holders = this.#holders.get(textOf(publicKey)) ?? []
    if (usedAt === undefined && holders.length === 0) return state
    return {
      ...state,
      token: token && { ...token, used_at: usedAt ?? token.used_at },
      isPairTaken: isPairTaken || holders.some((each) => each.agentId === agentId),
      isHeldByAnother: isHeldByAnother || holders.some(({ owner }) => owner !== token?.owner_id),
    }
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

/** The grade that an agent begins with: no channel has been proven yet. */
function gradeAtClaim({ verifications }: ClaimState, now: number): NewAgent['grade'] {
  const verified = verifications.map(factsOfVerification)
  return gradeOf({ status: 'active', verifications: verified, channels: [], now }).grade
}

function claimedEvent(agent: NewAgent): NewEvent {
  const { seq, claimed_at: at, tail, owner_id: ownerId, public_key: key } = agent
  const payload = { publicKey: encodeBase64(key) }
  return { seq, at, type: 'agent.claimed', tail, ownerId, payload }
}
