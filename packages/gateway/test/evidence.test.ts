import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { FeedPosition } from '@countersign/sdk'
import { type KnownStatus, type Verdict, verdictOf } from '../src/issuers/evidence.ts'

interface EvidenceVectors {
  readonly now: number
  readonly maxStaleSeconds: number
  readonly cases: readonly {
    readonly name: string
    readonly case: number
    readonly list: (FeedPosition & { status: 'valid'; asOf: number }) | null
    readonly overlay: (FeedPosition & { status: 'suspended' | 'invalid' }) | null
    readonly staples: KnownStatus['staples']
    readonly lookup: KnownStatus['lookup']
    readonly keysOverdueSeconds?: number
    readonly expect: { readonly verdict: string; readonly source: string | null }
  }[]
}

const file = new URL('../../../vectors/evidence.json', import.meta.url)
const { now, maxStaleSeconds, cases } = JSON.parse(readFileSync(file, 'utf8')) as EvidenceVectors
const SOURCES = { certificate: 'list', staple: 'staple', cache: 'lookup' } as const

for (const { name, list, overlay, staples, lookup, expect, ...rest } of cases) {
  test(`evidence, case ${rest.case}: ${name}`, () => {
    const listed = overlay ?? list
    const asOf = list?.asOf ?? Number.NEGATIVE_INFINITY
    const verdict = verdictOf({
      listed: listed && { status: listed.status, feed: listed },
      asOf,
      listAgeMs: Math.max(now - asOf, 1000 * (rest.keysOverdueSeconds ?? 0)),
      staples,
      lookup,
      now,
    })
    if (verdict === null || verdict === 'replaced') {
      assert.deepEqual(expect, { verdict: verdict ?? 'unreachable', source: null })
      return
    }
    const isOld = verdict.status === 'active' && verdict.ageMs > maxStaleSeconds * 1000
    const status = isOld ? 'unreachable' : verdict.status
    assert.deepEqual(expect, { verdict: status, source: SOURCES[verdict.source] })
  })
}

/** What a gateway may know of one agent: parts of a true history, each with its place and an age that says nothing. */
function randomKnowledge(): { known: KnownStatus; history: readonly ('active' | 'suspended')[] } {
  // The status after each change; other agents' changes leave it as it is.
  const history: ('active' | 'suspended')[] = ['active']
  while (history.length < 12) {
    const before = history.at(-1) as 'active' | 'suspended'
    history.push(randomInt(3) > 0 ? before : before === 'active' ? 'suspended' : 'active')
  }
  const statusAt = (n: number) => history[n] as 'active' | 'suspended'
  const age = () => randomInt(900_000)
  const verified = randomInt(history.length)
  // Lines up to here came, and no head.
  const heard = randomInt(verified, history.length)
  const restricted = history.findLastIndex(
    (status, n) =>
      n > verified && n <= heard && status === 'suspended' && history[n - 1] === 'active',
  )
  const place = (n: number): FeedPosition => ({ epoch: 'e', n })
  const listed =
    restricted > 0
      ? ({ status: 'suspended', feed: place(restricted) } as const)
      : ({
          status: statusAt(verified) === 'active' ? 'valid' : 'suspended',
          feed: place(verified),
        } as const)
  const staples = Array.from({ length: randomInt(3) }, () => {
    const n = randomInt(history.length)
    const feed = [place(n), place(n), place(n), { epoch: 'other', n }, null][randomInt(5)] ?? null
    return { status: statusAt(n), feed, issuedAt: now - age() }
  })
  const known = { asOf: now - age(), listAgeMs: age(), staples, lookup: null, now }
  return { known: { ...known, listed: randomInt(6) > 0 ? listed : null }, history }
}

function placeOf({ status, source, ageMs }: Verdict, { listed, staples }: KnownStatus): number {
  if (source === 'certificate') return listed?.feed?.n ?? assert.fail()
  const staple = staples.find((each) => each.status === status && now - each.issuedAt === ageMs)
  return staple?.feed?.n ?? -1
}

test('random histories: never active if a restriction at or after the place of the winner is known', () => {
  const seen = { active: 0, suspended: 0 }
  for (let i = 0; i < 20_000; i += 1) {
    const { known } = randomKnowledge()
    const verdict = verdictOf(known)
    const about = JSON.stringify(known)
    if (verdict === null) {
      assert.ok(known.listed === null && known.staples.length === 0, about)
      continue
    }
    assert.ok(verdict !== 'replaced', about)
    const { listed, staples } = known
    const epoch = listed?.feed?.epoch
    const isSame = ({ feed }: { feed: FeedPosition | null }) =>
      feed !== null && (listed === null || feed.epoch === epoch)
    const restrictions = [
      ...(listed?.status === 'suspended' ? [listed.feed?.n ?? 0] : []),
      ...staples
        .filter(({ status }) => status !== 'active')
        .map((each) => (isSame(each) ? (each.feed?.n ?? 0) : 99)),
    ]
    if (verdict.status === 'active') {
      seen.active += 1
      const place = placeOf(verdict, known)
      assert.ok(
        restrictions.every((n) => n < place),
        about,
      )
      if (listed !== null && verdict.source === 'staple') assert.ok(place >= 0, about)
    } else {
      seen.suspended += 1
      const floor = Math.max(...restrictions)
      const actives = [
        ...(listed?.status === 'valid' ? [listed.feed?.n ?? 0] : []),
        ...staples
          .filter((each) => each.status === 'active' && isSame(each))
          .map(({ feed }) => feed?.n ?? 0),
      ]
      assert.ok(
        actives.every((n) => n <= floor),
        about,
      )
    }
  }
  assert.ok(seen.active > 1_000 && seen.suspended > 1_000, JSON.stringify(seen))
})
