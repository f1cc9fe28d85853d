import { encodeBase64, type Openings, type Tail } from '@countersign/protocol'
import { requireOwn, tailOf } from '../agents/find-agent.ts'
import { didOfAgent } from '../base/site.ts'
import type { Db } from '../database/database.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import { currentEpoch, entriesOf } from './log-table.ts'
import { nextOf } from './read-log.ts'

/** Openings in a response. */
const PAGE = 500

/**
 * What the commitments about an agent open to: the owner can show each to a person who doubts an entry.
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
  await requireOwn(db.read, ownerId, tail)
  const epoch = await currentEpoch(db.read)
  const page = await openingsFrom(db.read, epoch?.epoch ?? 0, tail, from)
  return { did: didOfAgent(site, tail), origin: epoch?.origin ?? '', ...page }
}

async function openingsFrom(
  db: Db,
  epoch: number,
  tail: Tail,
  from: number,
): Promise<Pick<Openings, 'openings' | 'next'>> {
  const rows = await entriesOf(db, { epoch, tail, from, to: Number.MAX_SAFE_INTEGER }, PAGE)
  const openings = rows.flatMap(({ position, entry, salt, evidence }) =>
    salt === null || evidence === null
      ? []
      : [{ index: position, entry, salt: encodeBase64(salt), evidence }],
  )
  return { openings, next: nextOf(rows, PAGE) }
}

/** All openings about an agent, for the export of the owner's data. */
export async function exportOpenings(db: Db, tail: Tail): Promise<Openings['openings']> {
  const epoch = await currentEpoch(db)
  const all: Openings['openings'] = []
  for (let from: number | null = 0; from !== null; ) {
    const page = await openingsFrom(db, epoch?.epoch ?? 0, tail, from)
    all.push(...page.openings)
    from = page.next
  }
  return all
}
