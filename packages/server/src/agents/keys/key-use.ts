import { CONTEST_WINDOW_MS, CodedError } from '@countersign/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { enrolled } from '../enrolment/enrolment-of-agent.ts'

/** A key that is to become the current one of an agent. */
export interface WantedKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** The label that the owner chose for the agent. */
  readonly agentId: string
  /** Null: nobody, so that no owner is another one. */
  readonly ownerId: number | null
}

/** What keeps a key from becoming the current one of an agent. It cannot change during the write transaction that reads it. */
export interface KeyUse {
  /** Whether the agent is one of a workload, whose key it has for good. */
  readonly isEnrolled: boolean
  /** Whether an agent that is not revoked has this key and label. */
  readonly isPairTaken: boolean
  /** Whether an agent that is not revoked had this key and label, and its owner may still contest that it was replaced. */
  readonly isPairReserved: boolean
  /** Whether another owner has an agent with this key that is not revoked. */
  readonly isHeldByOtherOwner: boolean
  /** Whether an agent of another owner has replaced this key, which had not renounced it. */
  readonly isReservedByOtherOwner: boolean
  /** Whether the agent itself has replaced this key. Only a contest brings it back. */
  readonly isOwnFormerKey: boolean
  /** Whether any agent has reported this key as compromised. */
  readonly isKeyCompromised: boolean
  /** Whether the operator has suspended this key. */
  readonly isKeySuspended: boolean
}

/** `any` if two owners may hold live certificates of the same key, else `owner`. */
export type KeyReuse = 'owner' | 'any'

/**
 * Why a key cannot become the current one of an agent: CONFLICT if the agent is enrolled, else KEY_ALREADY_CLAIMED, with the reason
 * in its message.
 * @returns null if it can
 */
export function keyUseRefusal(keyReuse: KeyReuse, use: KeyUse): CodedError | null {
  if (use.isEnrolled) return enrolled()
  if (use.isKeyCompromised) {
    return taken(
      'This key was reported as compromised, so nobody can claim it again. Make a new key.',
    )
  }
  if (use.isKeySuspended) {
    return taken(
      'The operator suspended this key. Nobody can claim it until they lift the suspension.',
    )
  }
  if (keyReuse === 'owner' && use.isHeldByOtherOwner) {
    return taken(
      'Another owner has a certificate of this key. Use another key, or wait until that certificate is revoked.',
    )
  }
  if (keyReuse === 'owner' && use.isReservedByOtherOwner) {
    return taken('An agent of another owner has had this key. It stays reserved to that owner.')
  }
  if (use.isPairTaken) {
    return taken(
      'This key has a certificate under this agentId. Choose another agentId, or revoke that one.',
    )
  }
  if (use.isOwnFormerKey) {
    return taken(
      'This agent has had this key. It comes back only if its owner contests a rotation.',
    )
  }
  if (!use.isPairReserved) return null
  return taken(
    'An agent with this agentId has replaced this key within the last 72 hours. Until it can no longer be contested, nobody can claim the pair.',
  )
}

function taken(message: string): CodedError {
  return new CodedError('KEY_ALREADY_CLAIMED', message)
}

/**
 * Checks that a key may become the current one of an agent, by the rules of a claim. The agent's own former keys may not.
 * @param at milliseconds since 1970
 * @throws CodedError CONFLICT if the agent is enrolled, KEY_ALREADY_CLAIMED
 */
export async function assertUsable(
  tx: Tx,
  agent: AgentRow,
  publicKey: Uint8Array,
  keyReuse: KeyReuse,
  at: number,
): Promise<void> {
  const wanted = { publicKey, agentId: agent.agent_id, ownerId: agent.owner_id }
  const refusal = keyUseRefusal(keyReuse, await keyUseOf(tx.db, wanted, agent.tail, at))
  if (refusal !== null) throw refusal
}

/**
 * A wanted key in a statement, as values or SQL: the key's 32 bytes; the agent's label; its owner, null if nobody wants the key; the
 * tail of the agent, null if it is a new one; the time in milliseconds since 1970.
 */
type WantedInSql = Readonly<Record<'key' | 'label' | 'owner' | 'tail' | 'at', unknown>>

/** Selects a row if the answer is yes. */
const QUESTIONS: Readonly<Record<keyof KeyUse, (wanted: WantedInSql) => RawBuilder<unknown>>> = {
  isEnrolled: ({ tail }) => sql`select 1 from enrolments where tail = ${tail}`,
  isPairTaken: ({ key, label }) => sql`select 1 from agents
    where public_key = ${key} and agent_id = ${label} and pair_slot = 0`,
  isPairReserved: ({ key, label, tail, at }) => sql`${replacedKeys(key)}
    and agents.tail is distinct from ${tail} and agent_id = ${label} and status <> 'revoked'
    and valid_until + ${sql.lit(CONTEST_WINDOW_MS)} > ${at}`,
  isHeldByOtherOwner: ({ key, owner }) => sql`select 1 from agents
    where public_key = ${key} and owner_id <> ${owner} and status <> 'revoked'`,
  isReservedByOtherOwner: ({ key, owner }) => sql`${replacedKeys(key)} and owner_id <> ${owner}`,
  isOwnFormerKey: ({ key, tail }) => sql`select 1 from agent_keys
    where public_key = ${key} and tail = ${tail} and state in ('retired', 'renounced')`,
  isKeyCompromised: ({ key }) => sql`select 1 from agent_keys
    where public_key = ${key} and state = 'compromised'`,
  isKeySuspended: ({ key }) => sql`select 1 from suspended_keys where public_key = ${key}`,
}

function replacedKeys(key: unknown): RawBuilder<unknown> {
  return sql`select 1 from agent_keys join agents on agents.tail = agent_keys.tail
    where agent_keys.public_key = ${key} and state = 'retired'`
}

/** Columns that answer the questions of `KeyUse`, for `keyUseOfRow`. */
export function keyUseColumns(wanted: WantedInSql): RawBuilder<unknown> {
  const columns = Object.entries(QUESTIONS).map(
    ([name, rows]) => sql`exists (${rows(wanted)}) as ${sql.ref(name)}`,
  )
  return sql.join(columns)
}

/** The answers in a row with the columns of `keyUseColumns`. SQLite returns 0 and 1. */
export function keyUseOfRow(row: Readonly<Record<keyof KeyUse, unknown>>): KeyUse {
  const names = Object.keys(QUESTIONS) as (keyof KeyUse)[]
  const answers = names.map((name) => [name, Boolean(row[name])] as const)
  return Object.fromEntries(answers) as Record<keyof KeyUse, boolean>
}

interface WantedValues extends WantedInSql {
  readonly key: Uint8Array
  readonly label: string
  readonly owner: number | null
  readonly tail: string | null
  readonly at: number
}

const selectUse = prepared<WantedValues, Record<keyof KeyUse, unknown>>((db, param) => {
  const wanted = {
    key: param('key'),
    label: param('label'),
    owner: param('owner'),
    tail: sql`cast(${param('tail')} as text)`,
    at: param('at'),
  }
  return { compile: () => sql`select ${keyUseColumns(wanted)}`.compile(db) }
})

/**
 * Reads what keeps a key from becoming the current one of an agent.
 * @param tail of the agent; null: the key is claimed for a new one
 * @param at milliseconds since 1970
 */
export async function keyUseOf(
  db: Db,
  { publicKey: key, agentId: label, ownerId: owner }: WantedKey,
  tail: string | null,
  at: number,
): Promise<KeyUse> {
  const [row] = await selectUse(db, { key, label, owner, tail, at })
  return keyUseOfRow(row as Record<keyof KeyUse, unknown>)
}
