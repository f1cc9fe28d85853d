import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { query } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { saysOf } from './ask.ts'
import type { ClaimMade, OwnerLoad, RevocationMade, Told } from './owner-load.ts'

const IN_FLIGHT = 16
const PATIENCE_MS = 20_000
/** What one node acknowledged last, the others show within so long, whatever happens to their connections. */
const SETTLED_MS = 2000

/** What was told and is not so, by DID or public key. */
export interface Broken {
  readonly lostClaims: string[]
  readonly lostRevocations: string[]
  /** Said to have changed nothing, and there all the same. */
  readonly doneUntold: string[]
  readonly mintedTwice: string[]
}

interface Row {
  readonly tail: string
  readonly status: string
}

/** Compares what callers were told with what the database holds. */
export async function brokenOf(
  { claims, revocations }: Pick<OwnerLoad, 'claims' | 'revocations'>,
  database: string,
): Promise<Broken> {
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
  const statusOf = ({ did }: RevocationMade) => statuses.get(did.slice(-24))
  return {
    lostClaims: claims.filter(isLost).map(({ publicKey, did }) => did ?? publicKey),
    lostRevocations: revocations
      .filter((each) => isDone(each.told) && statusOf(each) !== 'revoked')
      .map(({ did }) => did),
    doneUntold: [
      ...claims.filter((each) => each.told === 'not done' && agentsOf(each).length > 0),
      ...revocations.filter((each) => each.told === 'not done' && statusOf(each) === 'revoked'),
    ].map((each) => each.did ?? 'a claim'),
    mintedTwice: claims.filter((each) => agentsOf(each).length > 1).map((each) => each.publicKey),
  }
}

function isDone(told: Told): boolean {
  return told === 'done' || told === 'done before'
}

/** @returns how many claims and revocations were told so */
export function countOf(made: readonly { readonly told: Told }[], told: Told): number {
  return made.filter((each) => each.told === told).length
}

export function nothingBroken(broken: Broken): void {
  assert.deepEqual(broken, { lostClaims: [], lostRevocations: [], doneUntold: [], mintedTwice: [] })
}

/**
 * Asserts that every node vouches for each agent that was claimed and not revoked, and for no other.
 * @returns how many lookups that took
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
    const isUp = async () => !/^5|no/.test(await saysOf(url, dids[0] as string))
    await until(isUp, PATIENCE_MS)
    const queue = [...(dids as string[])]
    const caller = async () => {
      for (let did = queue.pop(); did !== undefined; did = queue.pop()) {
        const expected = revoked.has(did) ? 'revoked' : 'active'
        assert.equal(await saysOf(url, did), expected, `${did} at ${url}`)
        lookups += 1
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  }
  return lookups
}
