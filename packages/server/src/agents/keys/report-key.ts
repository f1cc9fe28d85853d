import {
  type AgentKeys,
  CodedError,
  type JsonValue,
  type KeyReport,
  type Tail,
} from '@countersign/protocol'
import { didOfAgent, tailOf } from '../../base/site.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { burnKey } from '../changes/set-status.ts'
import { requireOwn } from '../find-agent.ts'
import { type AgentKey, keysOfAgent } from './key-table.ts'
import { listKeys } from './list-keys.ts'
import {
  assertRecent,
  assertSigned,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from './signed-operation.ts'

type ReportDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>

/**
 * Reports a key as compromised with a signature by it: its holder can burn it, and nothing else. Any key that the agent has had,
 * and also if the agent is revoked. Repeating it changes nothing.
 * @param reference the agent's DID or its tail
 * @returns the keys of the agent
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND if there is no such agent or key, INVALID_SIGNATURE; CONFLICT if the key was lost
 *   in a restore
 */
export async function reportByKey(
  deps: ReportDeps & Pick<KeyOperationDeps, 'ed25519'>,
  reference: string,
  { sequence, issuedAt, signature: encoded }: KeyReport,
): Promise<AgentKeys> {
  const { db, site, now } = deps
  const tail = tailOf(site.naming, reference)
  const signature = decodeSigned(encoded)
  assertRecent(issuedAt, now())
  // A key with a number never becomes another one.
  const { public_key: key } = await requireKey(db.read, await requireAgent(db.read, tail), sequence)
  const did = didOfAgent(site, tail)
  const target = { service: site.baseUrl, did, sequence, oldKey: key, newKey: null, issuedAt }
  const whose = `the agent’s key ${sequence}`
  await assertSigned(deps, { operation: 'compromised', ...target }, { key, signature, whose })
  const evidence = { service: site.baseUrl, sequence, issuedAt, signature: encoded }
  await db.write(async (tx) =>
    report(tx, await requireAgent(tx.db, tail), sequence, { evidence, at: now() }),
  )
  return afterCommit(() => listKeys(deps, tail))
}

/**
 * Reports a key of an owner's agent as compromised, as they can revoke the agent.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, CONFLICT
 */
export async function reportByOwner(
  deps: ReportDeps,
  ownerId: number,
  reference: string,
  sequence: number,
): Promise<AgentKeys> {
  const tail = tailOf(deps.site.naming, reference)
  await deps.db.write(async (tx) =>
    report(tx, await requireOwn(tx.db, ownerId, tail), sequence, { at: deps.now() }),
  )
  return afterCommit(() => listKeys(deps, tail))
}

/**
 * Reports a key for the operator.
 * @param sequence null: the current key
 * @returns the number of the key
 * @throws CodedError NOT_FOUND, CONFLICT
 */
export function reportByOperator(
  { db, now }: Pick<ReportDeps, 'db' | 'now'>,
  tail: Tail,
  sequence: number | null,
): Promise<number> {
  return db.write(async (tx) => {
    const agent = await requireAgent(tx.db, tail)
    const reported = sequence ?? agent.key_sequence
    await report(tx, agent, reported, { at: now() })
    return reported
  })
}

async function report(
  tx: Tx,
  agent: AgentRow,
  sequence: number,
  { evidence = null, at }: { readonly evidence?: JsonValue; readonly at: number },
): Promise<void> {
  const key = await requireKey(tx.db, agent, sequence)
  if (key.state === 'compromised') return
  await burnKey(tx, key.public_key, at, { tail: agent.tail, evidence, isSilent: false })
}

/** @throws CodedError NOT_FOUND; CONFLICT if it was lost in a restore */
async function requireKey(db: Db, agent: AgentRow, sequence: number): Promise<AgentKey> {
  const key = (await keysOfAgent(db, agent)).find((each) => each.sequence === sequence)
  if (key?.state === 'lost') {
    throw new CodedError(
      'CONFLICT',
      'The service lost this key when it was restored, and cannot burn it. Recover the agent with a new key.',
    )
  }
  if (key !== undefined) return key
  throw new CodedError(
    'NOT_FOUND',
    `This agent has had no key with the sequence ${sequence}: it has had ${agent.key_sequence}.`,
  )
}
