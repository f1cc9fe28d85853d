import { encodeBase64, type Openings, type Tail } from '@countersign/protocol'
import { requireOwnOrFormer } from '../agents/manage/history.ts'
import { didOfAgent, tailOf } from '../base/site.ts'
import type { Db } from '../database/database.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import { currentEpoch, entriesOf } from './log-table.ts'
import { nextOf } from './read-log.ts'

/** Openings in a response. */
const PAGE = 500

/**
 * What the commitments about an agent open to: the owner can show each to a person who doubts an entry. Each owner of an agent sees
 * those of their own time.
 * @param reference the agent's DID or its tail
 * @param from the index to begin with
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function listOpenings(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  reference: string,
  from: number,
): Promise<Openings> {
  const tail = tailOf(site.naming, reference)
  const isOwner = await requireOwnOrFormer(db.read, ownerId, tail)
  const epoch = await currentEpoch(db.read)
  const page = await openingsFrom(db.read, epoch?.epoch ?? 0, tail, from, { ownerId, isOwner })
  return { did: didOfAgent(site, tail), origin: epoch?.origin ?? '', ...page }
}

interface Reader {
  readonly ownerId: number
  /** False: the agent was theirs before. */
  readonly isOwner: boolean
}

async function openingsFrom(
  db: Db,
  epoch: number,
  tail: Tail,
  from: number,
  { ownerId, isOwner }: Reader,
): Promise<Pick<Openings, 'openings' | 'next'>> {
  const rows = await entriesOf(db, { epoch, tail, from, to: Number.MAX_SAFE_INTEGER }, PAGE)
  const openings = rows.flatMap(({ position, entry, salt, evidence, opening_owner }) => {
    const isTheirs = opening_owner === null ? isOwner : opening_owner === ownerId
    if (!isTheirs || salt === null || evidence === null) return []
    return [{ index: position, entry, salt: encodeBase64(salt), evidence }]
  })
  return { openings, next: nextOf(rows, PAGE) }
}

/** All openings about an agent that are its owner's, for the export of their data. */
export async function exportOpenings(
  db: Db,
  ownerId: number,
  tail: Tail,
): Promise<Openings['openings']> {
  const epoch = await currentEpoch(db)
  const all: Openings['openings'] = []
  for (let from: number | null = 0; from !== null; ) {
    const page = await openingsFrom(db, epoch?.epoch ?? 0, tail, from, {
      ownerId,
      isOwner: true,
    })
    all.push(...page.openings)
    from = page.next
  }
  return all
}
