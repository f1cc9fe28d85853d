import assert from 'node:assert/strict'
import type { Card, CheckOutcome, CompactCard, OwnerChannel } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { startDnsServer, type TestDns } from '../../../../../test/support/dns-server.ts'
import {
  type HttpsSite,
  outsideEnv,
  type SitePage,
} from '../../../../../test/support/https-site.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'

type Cleanup = Parameters<typeof startTestService>[0]

/** An agent whose owner proves accounts on platforms that are https servers of the test. */
export interface ChatScene {
  readonly service: TestService
  readonly dns: TestDns
  readonly agent: ChatAgent
  /** Another agent, of another owner. */
  newcomer(): Promise<ChatAgent>
}

export interface ChatAgent {
  readonly did: string
  add(kind: string, handle: string): Promise<OwnerChannel>
  /** @returns what the last perspective saw, and the channel after it */
  check(channel: OwnerChannel): Promise<Seen>
  refuses(kind: string, handle: string): Promise<void>
}

export interface Seen {
  readonly outcome: CheckOutcome
  readonly detail: string
  readonly channel: OwnerChannel
}

export async function chatScene(t: Cleanup, sites: readonly HttpsSite[]): Promise<ChatScene> {
  const dns = await startDnsServer(t)
  const service = await startTestService(t, outsideEnv([dns], sites))
  return { service, dns, agent: await newAgent(service), newcomer: () => newAgent(service) }
}

async function newAgent(service: TestService): Promise<ChatAgent> {
  const ownerId = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, ownerId, newKey())
  const owner = await signIn(service, ownerId)
  const channels = `/api/account/agents/${did}/channels`
  const begin = (kind: string, handle: string) =>
    owner.post(channels, { kind, handleOrDomain: handle })
  return {
    did,
    async add(kind, handle) {
      const answer = await begin(kind, handle)
      assert.equal(answer.status, 201, answer.text)
      return jsonOf<OwnerChannel>(answer)
    },
    check: (channel) => check(owner, channels, channel),
    async refuses(kind, handle) {
      assertRefused(await begin(kind, handle), 400, 'VALIDATION_ERROR')
    },
  }
}

async function check(owner: SignedInOwner, path: string, { id }: OwnerChannel): Promise<Seen> {
  const answer = await owner.post(`${path}/${id}/check`)
  assert.equal(answer.status, 200, answer.text)
  const channel = jsonOf<OwnerChannel>(answer)
  const seen = channel.checks[0]?.perspectives.at(-1)
  assert.ok(seen, 'somebody has looked')
  return { outcome: seen.outcome, detail: seen.detail, channel }
}

/** The text that an owner is asked to copy. */
export function textOf({ proof }: OwnerChannel): string {
  const values = (proof?.methods ?? []).flatMap(({ fields }) => fields.map(({ value }) => value))
  const [text] = values
  assert.ok(text !== undefined && values.every((each) => each === text), 'one text for every place')
  return text
}

/** What a platform answers, by the name of the case; `text` is what the owner was asked to place. */
export interface Cases {
  readonly absent: Readonly<Record<string, (text: string) => SitePage>>
  readonly unreachable: Readonly<Record<string, (text: string) => SitePage>>
}

/** Checks that an owner reads why nothing is known. */
export async function assertReason(
  agent: ChatAgent,
  channel: OwnerChannel,
  reason: RegExp,
): Promise<void> {
  const { outcome, detail } = await agent.check(channel)
  assert.equal(outcome, 'unreachable')
  assert.match(detail, reason)
}

/** Checks a channel that was never proven under every case in turn: none of them proves it. */
export async function assertProvesNothing(
  agent: ChatAgent,
  channel: OwnerChannel,
  serve: (page: SitePage) => void,
  cases: Cases,
): Promise<void> {
  const text = textOf(channel)
  for (const outcome of ['absent', 'unreachable'] as const) {
    for (const [name, page] of Object.entries(cases[outcome])) {
      serve(page(text))
      const seen = await agent.check(channel)
      assert.equal(seen.outcome, outcome, `${name}: ${seen.detail}`)
      assert.match(seen.detail, /^[A-Z@a-z].*\.$/, 'a sentence')
      assert.equal(seen.channel.state, 'pending', name)
    }
  }
}

/** Checks a channel that now shows its text, and all that the proof brings. */
export async function assertProves(
  { service, agent }: ChatScene,
  channel: OwnerChannel,
  chatHandle: string,
): Promise<void> {
  const { outcome, detail, channel: after } = await agent.check(channel)
  assert.equal(outcome, 'proven', detail)
  assert.deepEqual([after.state, after.tier, after.proof], ['verified', 1, null])
  const days =
    (Date.parse(after.freshUntil ?? '') - Date.parse(after.verifiedAt ?? '')) / 86_400_000
  assert.equal(days, 90)
  const card = jsonOf<Card>(await ask(service, `/api/agents/${agent.did}/card`))
  assert.deepEqual([card.grade, card.tier, card.gradeIsFallback], ['B', 1, true])
  const { kind, handleOrDomain } = channel
  assert.deepEqual(card.channels, [{ kind, handleOrDomain }])
  const compact = jsonOf<CompactCard>(await ask(service, `/api/v1/agent/${agent.did}/card`))
  assert.equal(compact.chatHandle, chatHandle)
  // The proof stays as it is where it is looked for the next day.
  assert.equal((await agent.check(after)).channel.state, 'verified')
}

const html = { 'content-type': 'text/html; charset=utf-8' }

/** Answers of which nothing can be learnt. */
export const UNREADABLE: Cases['unreachable'] = {
  'an empty answer': () => ({ body: '' }),
  null: () => ({ body: 'null' }),
  'a text': (text) => ({ body: JSON.stringify(text) }),
  'no JSON': (text) => ({ body: `{"description": "${text}"` }),
  'nothing of its own': (text) => ({
    body: `{"__proto__": {"login": "desk", "handle": "desk", "username": "desk", "bio": "${text}"}}`,
  }),
  'a page for people': (text) => ({ headers: html, body: `<html><p>${text}</p></html>` }),
  'a page in the place of the API': () => ({ status: 404, headers: html, body: '<h1>404</h1>' }),
  'a request that it does not like': () => ({ status: 400, body: '{}' }),
  'too many requests': () => ({ status: 429, body: '{"error":"Too many requests"}' }),
  'a failure': () => ({ status: 500, body: '{"error":"Internal Server Error"}' }),
  'a failure in front of it': () => ({ status: 502, headers: html, body: '<h1>Bad Gateway</h1>' }),
}

/** The page of a JSON API. */
export function json(body: unknown, status = 200, mediaType = 'application/json'): SitePage {
  const type = `${mediaType}; charset=utf-8`
  return { status, headers: { 'content-type': type }, body: JSON.stringify(body) }
}

/** Every request that reached the servers. None of them may hold a token. */
export function assertTokenKept(sites: readonly HttpsSite[], text: string): void {
  const token = text.slice(text.lastIndexOf('-') + 1)
  const requests = JSON.stringify(sites.flatMap(({ requests }) => requests))
  assert.ok(requests.length > 2, 'something was asked')
  assert.ok(!requests.includes(token), 'the token is in a request')
}
