import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  type ChainPosition,
  chainAfter,
  chainStart,
  encodeBase64Url,
  FeedChain,
  FeedChainError,
  type FeedChange,
  type IssuerJwk,
  STATUS_LIST_BYTES,
  type StatusValue,
  setStatusAt,
} from '@countersign/protocol'
import { type FeedPosition, readFeedHead, readFeedLine } from '@countersign/sdk'
import { ListStore, RefusedList } from '../src/issuers/list-store.ts'

interface Case {
  readonly name: string
}

interface Step {
  readonly result: 'ok' | 'older' | 'fault' | 'refused'
  readonly why?: string
  readonly line?: FeedChange
  readonly head?: ChainPosition
}

interface FollowerStep extends Step {
  readonly at: number
  readonly snapshot?: ChainPosition & { readonly lists: Readonly<Record<string, Entries>> }
  readonly list?: FeedPosition & { readonly list: number; readonly entries: Entries }
  readonly reconnect?: true
  readonly verified?: Partial<ChainPosition>
  readonly expect?: Readonly<Record<string, number | null>>
}

type Entries = Readonly<Record<string, StatusValue>>

interface FeedVectors {
  readonly issuer: string
  readonly now: number
  readonly keySet: { readonly keys: readonly IssuerJwk[] }
  readonly chains: readonly (Case & {
    readonly issuer: string
    readonly epoch: string
    readonly start: string
    readonly lines: readonly (FeedChange & { readonly chain: string })[]
  })[]
  readonly lines: Record<'valid' | 'invalid', readonly (Case & { readonly line: unknown })[]>
  readonly heads: {
    readonly valid: readonly (Case & { readonly token: string; readonly position: ChainPosition })[]
    readonly invalid: readonly (Case & { readonly token: string })[]
  }
  readonly follow: readonly (Case & {
    readonly position: ChainPosition
    readonly steps: readonly (Step & { readonly confirms?: readonly number[] })[]
  })[]
  readonly followers: readonly (Case & { readonly steps: readonly FollowerStep[] })[]
}

const file = new URL('../../../vectors/feed.json', import.meta.url)
const feed = JSON.parse(readFileSync(file, 'utf8')) as FeedVectors

for (const { name, issuer, epoch, start, lines } of feed.chains) {
  test(`feed, chain: ${name}`, () => {
    let chain = chainStart(issuer, epoch)
    assert.equal(encodeBase64Url(chain), start)
    for (const { chain: expected, ...line } of lines) {
      chain = chainAfter(chain, line)
      assert.equal(encodeBase64Url(chain), expected)
    }
  })
}

test('feed, lines and heads: those of the vectors are read, or refused', async () => {
  const keysFor = () => feed.keySet.keys
  const context = { issuer: feed.issuer, keysFor, now: feed.now }
  for (const { name, line } of feed.lines.valid) assert.ok((await readFeedLine(line)).change, name)
  for (const { name, line } of feed.lines.invalid) {
    await assert.rejects(readFeedLine(line), { code: 'INVALID_TOKEN' }, name)
  }
  for (const { name, token, position } of feed.heads.valid) {
    const { epoch, n, chain, asOf } = await readFeedHead(token, context)
    assert.deepEqual({ epoch, n, chain, asOf }, position, name)
  }
  for (const { name, token } of feed.heads.invalid) {
    await assert.rejects(readFeedHead(token, context), { code: 'INVALID_TOKEN' }, name)
  }
})

/** What a step does: the result of the vectors, with its reason. */
function resultOf(work: () => boolean | undefined): Pick<Step, 'result' | 'why'> {
  try {
    return { result: work() === false ? 'older' : 'ok' }
  } catch (error) {
    if (error instanceof RefusedList) return { result: 'refused' }
    if (error instanceof FeedChainError) return { result: 'fault', why: error.fault }
    throw error
  }
}

for (const { name, position, steps } of feed.follow) {
  test(`feed, follow: ${name}`, () => {
    const chain = new FeedChain(position)
    for (const { line, head, result, why, confirms } of steps) {
      const done = resultOf(() => {
        if (line !== undefined) {
          chain.apply(line)
          return undefined
        }
        const confirmed = chain.accept(head as ChainPosition)
        if (confirmed === 'older') return false
        assert.deepEqual(
          confirmed.map(({ n }) => n),
          confirms,
        )
        return true
      })
      assert.deepEqual(done, { result, ...(why && { why }) })
    }
  })
}

function bytesOf(entries: Entries): Uint8Array {
  const bytes = new Uint8Array(STATUS_LIST_BYTES)
  for (const [idx, status] of Object.entries(entries)) setStatusAt(bytes, Number(idx), status)
  return bytes
}

function take(store: ListStore, { at, snapshot, line, head, list }: FollowerStep) {
  if (snapshot !== undefined) {
    const lists = Object.entries(snapshot.lists).map(([n, each]) => [+n, bytesOf(each)] as const)
    store.takeSnapshot(snapshot, new Map(lists))
  } else if (line !== undefined) store.applyLine(line, at)
  else if (head !== undefined) return store.acceptHead(head)
  else if (list !== undefined) store.takeList(list.list, bytesOf(list.entries), list)
  else store.reconnect()
  return undefined
}

const NAMES = ['valid', 'invalid', 'suspended'] as const

for (const { name, steps } of feed.followers) {
  test(`feed, follower: ${name}`, () => {
    const store = new ListStore()
    for (const [i, step] of steps.entries()) {
      const { result, why, verified = {}, expect = {} } = step
      assert.deepEqual(
        resultOf(() => take(store, step)),
        { result, ...(why && { why }) },
      )
      for (const [member, value] of Object.entries(verified)) {
        assert.equal(store.verified?.[member as keyof ChainPosition], value, `${i} ${member}`)
      }
      for (const [entry, value] of Object.entries(expect)) {
        const [list = -1, idx = -1] = entry.split(':').map(Number)
        const status = store.status(list, idx)?.status ?? null
        assert.equal(status, value === null ? null : NAMES[value], `step ${i}: ${entry}`)
      }
    }
  })
}
