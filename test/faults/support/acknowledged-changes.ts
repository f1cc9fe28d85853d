import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { query } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { statusAt } from './ask.ts'
import type { Acknowledgement, ClaimMade, OwnerLoad, RevocationMade } from './owner-load.ts'

const IN_FLIGHT = 16
const PATIENCE_MS = 20_000
/** The maximum time until an acknowledged change is visible at other nodes, whatever happens to connections. */
const SETTLED_MS = 2000

/** Acknowledged changes that are missing, by DID or public key. */
export interface Inconsistencies {
  readonly lostClaims: string[]
  readonly lostRevocations: string[]
  /** Changes that were reported as not made, but are there. */
  readonly doneUntold: string[]
  readonly mintedTwice: string[]
}

interface Row {
  readonly tail: string
  readonly status: string
}

/** Compares the answers that callers got with the database. */
export async function findInconsistencies(
  { claims, revocations }: Pick<OwnerLoad, 'claims' | 'revocations'>,
  database: string,
): Promise<Inconsistencies> {
  const rows = await query(
    database,
    "select tail, status, encode(public_key, 'base64') as key from agents",
  )
  const byKey = new Map<string, Row[]>()
  const statuses = new Map<string, string>()
  for (const { tail, status, key } of rows as unknown as (Row & { key: string })[]) {
    byKey.set(key, [...(byKey.get(key) ?? []), { tail, status }])
    statuses.set(tail, status)
  }
  const agentsOf = ({ publicKey }: ClaimMade) => byKey.get(publicKey) ?? []
  const isLost = (claim: ClaimMade) =>
    isDone(claim.told) &&
    !agentsOf(claim).some(({ tail }) => claim.did === null || claim.did.endsWith(tail))
  const says = ({ did }: RevocationMade) => statuses.get(did.slice(-24))
  return {
    lostClaims: claims.filter(isLost).map(({ publicKey, did }) => did ?? publicKey),
    lostRevocations: revocations
      .filter((each) => isDone(each.told) && says(each) !== 'revoked')
      .map(({ did }) => did),
    doneUntold: [
      ...claims.filter((each) => each.told === 'not done' && agentsOf(each).length > 0),
      ...revocations.filter((each) => each.told === 'not done' && says(each) === 'revoked'),
    ].map((each) => each.did ?? 'a claim'),
    mintedTwice: claims.filter((each) => agentsOf(each).length > 1).map((each) => each.publicKey),
  }
}

function isDone(told: Acknowledgement): boolean {
  return told === 'done' || told === 'done before'
}

/** @returns the number of acknowledged claims and revocations */
export function countOf(
  made: readonly { readonly told: Acknowledgement }[],
  told: Acknowledgement,
): number {
  return made.filter((each) => each.told === told).length
}

export function assertConsistent(inconsistencies: Inconsistencies): void {
  assert.deepEqual(inconsistencies, {
    lostClaims: [],
    lostRevocations: [],
    doneUntold: [],
    mintedTwice: [],
  })
}

/**
 * Asserts that every node reports as active exactly the agents that were claimed and not revoked.
 * @returns the number of lookups
 */
export async function assertNodesAgree(
  nodes: readonly { readonly url: string }[],
  { claims, revocations }: Pick<OwnerLoad, 'claims' | 'revocations'>,
): Promise<number> {
  const revoked = new Set(revocations.filter(({ told }) => isDone(told)).map(({ did }) => did))
  const open = new Set(revocations.filter(({ told }) => !isDone(told)).map(({ did }) => did))
  const dids = claims.map(({ did }) => did).filter((did) => did !== null && !open.has(did))
  let lookups = 0
  await sleep(SETTLED_MS)
  for (const { url } of nodes) {
    const isUp = async () => !/^5|no/.test(await statusAt(url, dids[0] as string))
    await until(isUp, PATIENCE_MS)
    const queue = [...(dids as string[])]
    const caller = async () => {
      for (let did = queue.pop(); did !== undefined; did = queue.pop()) {
        const expected = revoked.has(did) ? 'revoked' : 'active'
        assert.equal(await statusAt(url, did), expected, `${did} at ${url}`)
        lookups += 1
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  }
  return lookups
}
