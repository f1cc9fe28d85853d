import assert from 'node:assert/strict'
import {
  type CertificateClaims,
  type FeedChange,
  type FeedHeadClaims,
  type FeedLine,
  type Snapshot,
  type SnapshotClaims,
  statusAt,
} from '@countersign/protocol'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { decodeJws, keySetOf } from './agent-certificates.ts'
import type { Answer } from './answer.ts'
import { ask } from './ask.ts'
import type { TestService } from './service.ts'

/** Where a certificate finds its status. */
export interface Reference {
  readonly list: number
  readonly idx: number
}

export function referenceIn(certificate: string): Reference {
  const { uri, idx } = decodeJws<CertificateClaims>(certificate).claims.status.status_list
  return { list: Number(uri.split('/').at(-1)), idx }
}

/** Verifies a token of a service with jose. @returns its claims */
export async function verifiedClaims<T>(
  service: TestService,
  token: string,
  typ: string,
  now = Date.now(),
): Promise<T> {
  const keys = createLocalJWKSet((await keySetOf(service)) as never)
  const { payload } = await jwtVerify(token, keys, { typ, currentDate: new Date(now) })
  return payload as T
}

/**
 * The status of an entry by the service's list, as an independent implementation reads it.
 * @returns null if the service cannot say, because its database was too slow
 */
export async function listedStatus(
  service: TestService,
  { list, idx }: Reference,
): Promise<number | null> {
  const answer = await ask(service, `/status/${list}`)
  if (answer.status === 503) return null
  assert.equal(answer.status, 200, answer.text)
  return getListFromStatusListJWT(answer.text).getStatus(idx)
}

/** What a reader of the feed has received. */
export interface FeedRead {
  readonly changes: readonly FeedChange[]
  /** Of the last line: the cursor. */
  readonly head: string
  readonly claims: FeedHeadClaims
}

export function askForFeed(service: TestService, after?: string): Promise<Answer> {
  const query = after === undefined ? '' : `?after=${after}`
  return ask(service, `/api/v1/feed${query}`)
}

/** Reads the feed as NDJSON, from the beginning or after a head. */
export async function readFeed(service: TestService, after?: string): Promise<FeedRead> {
  const answer = await askForFeed(service, after)
  assert.equal(answer.status, 200, answer.text)
  const lines = answer.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as FeedLine)
  const last = lines.pop()
  assert.ok(last !== undefined && 'head' in last, 'the feed ends with a head')
  const { claims } = decodeJws<FeedHeadClaims>(last.head)
  return { changes: lines as FeedChange[], head: last.head, claims }
}

/** The statuses that the feed has for an entry, oldest first. */
export async function fedStatuses(
  service: TestService,
  { list, idx }: Reference,
): Promise<number[]> {
  const { changes } = await readFeed(service)
  return changes
    .filter((each) => each.list === list && each.idx === idx)
    .map(({ status }) => status)
}

export async function readSnapshot(service: TestService): Promise<{
  readonly snapshot: Snapshot
  readonly claims: SnapshotClaims
}> {
  const answer = await ask(service, '/api/v1/snapshot')
  assert.equal(answer.status, 200, answer.text)
  const snapshot = JSON.parse(answer.text) as Snapshot
  return { snapshot, claims: decodeJws<SnapshotClaims>(snapshot.manifest).claims }
}

/** The bytes of a list of a snapshot. */
export async function inflateList(lst: string): Promise<Uint8Array> {
  const compressed = new Blob([Buffer.from(lst, 'base64url')]).stream()
  const plain = compressed.pipeThrough(new DecompressionStream('deflate'))
  return new Uint8Array(await new Response(plain).arrayBuffer())
}

/** The status of an entry by a snapshot; null if it has no such list. */
export async function statusInSnapshot(
  { lists }: Snapshot,
  { list, idx }: Reference,
): Promise<number | null> {
  const lst = lists.find((each) => each.list === list)?.lst
  return lst === undefined ? null : statusAt(await inflateList(lst), idx)
}
