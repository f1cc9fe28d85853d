import { type Did, didOf, gradeOf, randomTail } from '@countersign/protocol'
import { factsOfVerification } from '../agents/read-model/rows.ts'
import type { ClaimTokenRow, Outcome, Tx } from '../core/database/database.ts'
import type { NewAgent } from './claim-table.ts'
import {
  appendEvents,
  insertAgents,
  type LiveAgent,
  liveAgentsOfKeys,
  redeemTokens,
  tokensByHash,
  verificationsByTokens,
} from './claim-table.ts'
import {
  claimedEvent,
  type DecodedClaim,
  heldByAnother,
  type MintDeps,
  pairTaken,
  requireRedeemable,
} from './mint.ts'

/**
 * Mints many DIDs in one transaction, with the outcomes that `mint` would have had one after another, in two round
 * trips. What they depend on is read first: nobody else writes meanwhile. The conditional update and the unique index
 * have the last word all the same.
 * @returns an outcome a claim, in their order
 * @throws Error where the database disagrees, and nothing of it may stay
 */
export async function mintMany(
  deps: MintDeps,
  tx: Tx,
  claims: readonly DecodedClaim[],
): Promise<Outcome<Did>[]> {
  const at = deps.now()
  const known = await readKnown(tx, claims)
  const agents: NewAgent[] = []
  const redeemed: Uint8Array[] = []
  const outcomes = claims.map((claim): Outcome<Did> => {
    try {
      const owner = requireMintable(deps, known, claim, at)
      const seq = tx.nextSeq()
      const tail = randomTail(deps.randomBytes)
      agents.push({
        ...{ seq, tail, public_key: claim.publicKey, agent_id: claim.agentId },
        ...{ owner_id: owner, claimed_at: at, grade: known.gradeOfOwner(owner, at) },
      })
      redeemed.push(claim.tokenHash)
      return { value: didOf(deps.naming, tail) }
    } catch (error) {
      return { error }
    }
  })
  if (agents.length === 0) return outcomes
  const [redeemable] = await Promise.all([
    redeemTokens(tx, redeemed, at),
    insertAgents(tx, agents),
    appendEvents(tx, agents.map(claimedEvent)),
  ])
  if (redeemable !== redeemed.length)
    throw new Error('a token could not be redeemed that had been seen')
  return outcomes
}

interface Known {
  readonly tokens: Map<string, ClaimTokenRow>
  readonly live: Map<string, LiveAgent[]>
  gradeOfOwner(owner: number, at: number): NewAgent['grade']
}

async function readKnown(tx: Tx, claims: readonly DecodedClaim[]): Promise<Known> {
  const hashes = claims.map(({ tokenHash }) => tokenHash)
  const keys = claims.map(({ publicKey }) => publicKey)
  const [tokens, verified, live] = await Promise.all([
    tokensByHash(tx, hashes),
    verificationsByTokens(tx, hashes),
    liveAgentsOfKeys(tx, keys),
  ])
  const verifications = Map.groupBy(verified, ({ owner_id }) => owner_id)
  return {
    tokens: new Map(tokens.map((token) => [textOf(token.hash), token])),
    live: Map.groupBy(live, ({ public_key }) => textOf(public_key)),
    gradeOfOwner(owner, now) {
      const verified = (verifications.get(owner) ?? []).map(factsOfVerification)
      return gradeOf({ status: 'active', verifications: verified, channels: [], now }).grade
    },
  }
}

/** Notes what a claim uses up, for those that come after it. @returns the owner. @throws CodedError */
function requireMintable(
  deps: MintDeps,
  { tokens, live }: Known,
  { tokenHash, publicKey, agentId }: DecodedClaim,
  at: number,
): number {
  const hash = textOf(tokenHash)
  const token = tokens.get(hash)
  requireRedeemable(token, at)
  const owner = (token as ClaimTokenRow).owner_id
  const key = textOf(publicKey)
  const holders = live.get(key) ?? []
  if (deps.keyReuse === 'owner' && holders.some(({ owner_id }) => owner_id !== owner))
    throw heldByAnother()
  if (holders.some(({ agent_id }) => agent_id === agentId)) throw pairTaken()
  tokens.set(hash, { ...(token as ClaimTokenRow), used_at: at })
  live.set(key, [...holders, { public_key: publicKey, agent_id: agentId, owner_id: owner }])
  return owner
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}
