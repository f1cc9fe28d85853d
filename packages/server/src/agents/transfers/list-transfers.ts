import { CodedError, type Tail, type Transfer, type Transfers } from '@countersign/protocol'
import { DELETED_OWNER_ID, ownersByIds } from '../../accounts/owner-table.ts'
import { didOfAgent } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { TransferRow } from '../../database/schema/organisation-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import {
  countTransfersByState,
  endedTransfersOf,
  openTransfersOf,
  tailsOf,
  transferById,
} from './transfer-table.ts'

type ListDeps = Pick<CoreDeps, 'db' | 'site'>

const MAX_ENDED = 50

/** The open transfers of an owner and the newest others, sent and received, newest first. */
export async function listTransfers(deps: ListDeps, ownerId: number): Promise<Transfers> {
  const { read } = deps.db
  const open = await openTransfersOf(read, ownerId)
  const ended = await endedTransfersOf(read, ownerId, MAX_ENDED)
  const rows = [...open, ...ended].toSorted((a, b) => b.created_at - a.created_at)
  return { transfers: await describe(deps, ownerId, rows) }
}

/** A transfer as one of its parties sees it. @throws CodedError NOT_FOUND if there is none */
export async function describeTransfer(
  deps: ListDeps,
  ownerId: number,
  id: string,
): Promise<Transfer> {
  const row = await transferById(deps.db.read, id)
  const [transfer] = row === undefined ? [] : await describe(deps, ownerId, [row])
  if (transfer !== undefined) return transfer
  throw new CodedError('NOT_FOUND', 'You have no such transfer.')
}

/** For the metric: how many transfers have ever reached each state. */
export async function transfersByState({ db }: Pick<ListDeps, 'db'>) {
  const counts = await countTransfersByState(db.read)
  return [...counts].map(([state, count]) => [{ state }, count] as const)
}

async function describe(
  { db, site }: ListDeps,
  ownerId: number,
  rows: readonly TransferRow[],
): Promise<Transfer[]> {
  const ids = new Set(rows.flatMap(({ from_owner, to_owner }) => [from_owner, to_owner]))
  const owners = await ownersByIds(db.read, [...ids])
  const names = new Map(owners.map(({ id, username }) => [id, username]))
  const nameOf = (id: number) => (id === DELETED_OWNER_ID ? null : (names.get(id) ?? null))
  return Promise.all(
    rows.map(async (row): Promise<Transfer> => {
      const tails = await tailsOf(db.read, row.id)
      return {
        id: row.id,
        direction: row.from_owner === ownerId ? 'sent' : 'received',
        state: row.state,
        from: nameOf(row.from_owner),
        to: nameOf(row.to_owner),
        agents: tails.length,
        dids: tails.map((tail) => didOfAgent(site, tail as Tail)),
        failure: row.failure,
        createdAt: timestamp(row.created_at),
        expiresAt: timestamp(row.expires_at),
        effectiveAt: timestampOrNull(row.effective_at),
        endedAt: timestampOrNull(row.ended_at),
      }
    }),
  )
}
