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

/** A service with an agent whose owner proves accounts. The platforms are HTTPS servers of the test. */
export interface ChatFixture {
  readonly service: TestService
  readonly dns: TestDns
  readonly agent: ChatAgent
  /** Another agent, of another owner. */
  otherOwnersAgent(): Promise<ChatAgent>
}

export interface ChatAgent {
  readonly did: string
  add(kind: string, handle: string): Promise<OwnerChannel>
  /** @returns the result of the last perspective, and the channel after the check */
  check(channel: OwnerChannel): Promise<CheckView>
  assertHandleRefused(kind: string, handle: string): Promise<void>
}

export interface CheckView {
  readonly outcome: CheckOutcome
  readonly detail: string
  readonly channel: OwnerChannel
}

export async function startChatFixture(
  t: Cleanup,
  sites: readonly HttpsSite[],
): Promise<ChatFixture> {
  const dns = await startDnsServer(t)
  const service = await startTestService(t, outsideEnv([dns], sites))
  return { service, dns, agent: await newAgent(service), otherOwnersAgent: () => newAgent(service) }
}

async function newAgent(service: TestService): Promise<ChatAgent> {
  const ownerId = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, ownerId, newKey())
  const owner = await signIn(service, ownerId)
  const channels = `/api/account/agents/${did}/channels`
  const addChannel = (kind: string, handle: string) =>
    owner.post(channels, { kind, handleOrDomain: handle })
  return {
    did,
    async add(kind, handle) {
      const answer = await addChannel(kind, handle)
      assert.equal(answer.status, 201, answer.text)
      return jsonOf<OwnerChannel>(answer)
    },
    check: (channel) => check(owner, channels, channel),
    async assertHandleRefused(kind, handle) {
      assertRefused(await addChannel(kind, handle), 400, 'VALIDATION_ERROR')
    },
  }
}

async function check(owner: SignedInOwner, path: string, { id }: OwnerChannel): Promise<CheckView> {
  const answer = await owner.post(`${path}/${id}/check`)
  assert.equal(answer.status, 200, answer.text)
  const channel = jsonOf<OwnerChannel>(answer)
  const seen = channel.checks[0]?.perspectives.at(-1)
  assert.ok(seen, 'the check has a result')
  return { outcome: seen.outcome, detail: seen.detail, channel }
}

/** The text that the owner has to copy. */
export function textOf({ proof }: OwnerChannel): string {
  const values = (proof?.methods ?? []).flatMap(({ fields }) => fields.map(({ value }) => value))
  const [text] = values
  assert.ok(text !== undefined && values.every((each) => each === text), 'one text for every place')
  return text
}

/** A platform's responses by case name; `text` is the proof text. */
export interface Cases {
  readonly absent: Readonly<Record<string, (text: string) => SitePage>>
  readonly unreachable: Readonly<Record<string, (text: string) => SitePage>>
}

/** Asserts that a check is unreachable and that its details give the reason. */
export async function assertReason(
  agent: ChatAgent,
  channel: OwnerChannel,
  reason: RegExp,
): Promise<void> {
  const { outcome, detail } = await agent.check(channel)
  assert.equal(outcome, 'unreachable')
  assert.match(detail, reason)
}

/** Asserts that no case proves a pending channel, and that each has the expected outcome. */
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

/** Asserts that a check proves a channel, with its state, expiry, grade and cards. */
export async function assertProves(
  { service, agent }: ChatFixture,
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
  // The next check finds the known token.
  assert.equal((await agent.check(after)).channel.state, 'verified')
}

const html = { 'content-type': 'text/html; charset=utf-8' }

/** Responses that neither prove nor disprove anything. */
export const UNUSABLE: Cases['unreachable'] = {
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

/** A response with a JSON body. */
export function json(body: unknown, status = 200, mediaType = 'application/json'): SitePage {
  const type = `${mediaType}; charset=utf-8`
  return { status, headers: { 'content-type': type }, body: JSON.stringify(body) }
}

/** Asserts that no request to the platforms contains the token. */
export function assertTokenNotSent(sites: readonly HttpsSite[], text: string): void {
  const token = text.slice(text.lastIndexOf('-') + 1)
  const requests = JSON.stringify(sites.flatMap(({ requests }) => requests))
  assert.ok(requests.length > 2, 'something was asked')
  assert.ok(!requests.includes(token), 'the token is in a request')
}
