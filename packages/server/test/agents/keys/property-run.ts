import { randomBytes } from 'node:crypto'
import { type Cleanup, openOperator, testEnv } from '../../../../../test/support/service.ts'
import { startSession } from '../../../src/accounts/owners/session.ts'
import { sessionByHash } from '../../../src/accounts/owners/session-table.ts'
import { readSettings } from '../../../src/base/config.ts'
import { hashToken } from '../../../src/base/hash-token.ts'
import { compareWithModel, type ModelWorld } from './compare-with-model.ts'

/** Sequences at a time: they share commits. */
const PARALLEL = 50

/** Compares many sequences of operations with the model. @returns how often each outcome occurred */
export async function compareMany(
  t: Cleanup,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<ReadonlyMap<string, number>> {
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  const { db } = operator
  const sessionOf = async () => {
    const ownerId = await operator.addVerifiedOwner()
    const passkeyId = `passkey-${ownerId}`
    const token = await db.write(async (tx) => {
      const passkey = { credential_id: passkeyId, owner_id: ownerId, public_key: randomBytes(32) }
      const rest = { counter: 0, transports: '[]', backed_up: 0, name: '', last_used_at: null }
      await tx.db
        .insertInto('passkeys')
        .values({ ...passkey, ...rest, created_at: 0 } as never)
        .execute()
      const browser = { session: null, userAgent: '' }
      const session = { id: ownerId, method: 'passkey', browser, passkeyId } as const
      return startSession({ now: Date.now, randomBytes }, tx, session)
    })
    const hash = hashToken(token)
    const row = await sessionByHash(db.read, hash)
    return {
      id: row?.id ?? '',
      ownerId,
      apiKey: null,
      personId: ownerId,
      membership: null,
      limitedTo: null,
      signedInAt: 0,
      hash,
      method: 'passkey',
    } as const
  }
  const world: ModelWorld = { db, sessions: [await sessionOf(), await sessionOf()] }
  const outcomes = new Map<string, number>()
  for (let seed = from; seed < from + count; seed += PARALLEL) {
    const seeds = Array.from(
      { length: Math.min(PARALLEL, from + count - seed) },
      (_, i) => seed + i,
    )
    const all = await Promise.all(seeds.map((each) => compareWithModel(world, each)))
    for (const outcome of all.flat()) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  return outcomes
}
