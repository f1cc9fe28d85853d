import assert from 'node:assert/strict'
import {
  type Database,
  type Db,
  StorageFailure,
} from '../../packages/server/src/database/database.ts'
import type { EventType } from '../../packages/server/src/database/event-table.ts'

/** The entry that each event has. `grade` and the channels' depend on the agent's status. */
const ENTRIES: Readonly<Partial<Record<EventType, string>>> = {
  'agent.claimed': 'claimed',
  'agent.suspended': 'status',
  'agent.reactivated': 'status',
  'agent.revoked': 'status',
  'agent.grade_changed': 'grade',
  'agent.owner_changed': 'owner_changed',
  'agent.key_rotated': 'key_rotated',
  'agent.key_recovered': 'key_recovered',
  'agent.key_contested': 'key_contested',
  'agent.key_recovery_started': 'key_recovery_started',
  'agent.key_recovery_vetoed': 'key_recovery_vetoed',
  'channel.verified': 'channel_verified',
  'channel.stale': 'channel_lost',
  'channel.removed': 'channel_lost',
}

/** Larger databases are seeded by tests of their size, and take too long to compare. */
const MOST_EVENTS = 20_000

const NOT_COMPARED = new WeakSet<Database>()

/** For a test that forges entries of a service's log, or takes some back, as a restored backup does. */
export function leaveUncompared({ operator }: { readonly operator: { readonly db: Database } }) {
  NOT_COMPARED.add(operator.db)
}

interface TypedRow {
  readonly tail: string
  readonly type: string
}

/**
 * Asserts that the transparency log has, or waits to have, an entry for each change of an agent that the events tell of, and no
 * other. Runs when a test's service stops. A database that cannot be read is not compared.
 */
export async function assertChangesComplete(db: Database): Promise<void> {
  if (NOT_COMPARED.has(db)) return
  // A write transaction, so that nothing moves from the queue into the log between two reads.
  const [events, entries] = await db.write((tx) => readChanges(tx.db)).catch(nothingIfUnreadable)
  const entriesOf = Map.groupBy(entries, ({ tail }) => tail)
  for (const [tail, changes] of Map.groupBy(events, (each) => each.tail)) {
    const logged = (entriesOf.get(tail) ?? []).map(({ type }) => type)
    // Agents from before the log began have an entry for what they were then.
    if (logged.includes('existing') || changes[0]?.type !== 'agent.claimed') continue
    compare(tail, expectedOf(changes), logged)
  }
}

async function readChanges(db: Db): Promise<[TypedRow[], TypedRow[]]> {
  const events = await db
    .selectFrom('events')
    .select(['tail', 'type'])
    .where('tail', 'is not', null)
    .orderBy('seq')
    .limit(MOST_EVENTS)
    .$castTo<TypedRow>()
    .execute()
  if (events.length === MOST_EVENTS) return [[], []]
  const queued = await db.selectFrom('log_queue').select(['tail', 'type']).execute()
  const logged = await db
    .selectFrom('log_entries')
    .select(['tail', 'entry'])
    .where('tail', 'is not', null)
    .execute()
  const typed = logged.map(({ tail, entry }) => ({
    tail: tail as string,
    type: (JSON.parse(entry) as { type: string }).type,
  }))
  return [events, [...queued, ...typed]]
}

function nothingIfUnreadable(error: unknown): [TypedRow[], TypedRow[]] {
  if (error instanceof StorageFailure) return [[], []]
  throw error
}

function expectedOf(changes: readonly TypedRow[]): string[] {
  let status = 'active'
  return changes.flatMap(({ type }) => {
    const entry = ENTRIES[type as EventType]
    const isOmitted =
      type === 'agent.grade_changed'
        ? status !== 'active'
        : type.startsWith('channel.') && status === 'revoked'
    if (entry === 'status') status = type === 'agent.reactivated' ? 'active' : type.slice(6)
    return entry === undefined || isOmitted ? [] : [entry]
  })
}

function compare(tail: string, expected: readonly string[], logged: readonly string[]): void {
  // Of several grades that wait, only the last one stays.
  const grades = (types: readonly string[]) => types.filter((type) => type === 'grade').length
  const others = (types: readonly string[]) => types.filter((type) => type !== 'grade').toSorted()
  const message = `the events of agent ${tail} and its entries in the log tell of different changes`
  assert.deepEqual(others(logged), others(expected), message)
  assert.ok(grades(logged) <= grades(expected), message)
  assert.ok(grades(logged) > 0 || grades(expected) === 0, message)
}
