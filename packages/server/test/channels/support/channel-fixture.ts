import assert from 'node:assert/strict'
import type { Card, ChannelCheck, GradeAnswer, OwnerChannel } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { startDnsServer, type TestDns } from '../../../../../test/support/dns-server.ts'
import {
  type HttpsSite,
  outsideEnv,
  startHttpsSite,
} from '../../../../../test/support/https-site.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'

/** The domain of most tests. */
export const DOMAIN = 'agents.example.com'
/** Where its TXT record goes, and how histories and cards name it. */
export const NAME = `_svc-challenge.${DOMAIN}`
export const PLACE = `domain ${DOMAIN}`

interface Options {
  /** The number of resolvers. */
  readonly resolvers?: number
  /** The host names of the site. */
  readonly names?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** How far the service's clock is ahead, in milliseconds. The test moves it. */
  readonly clock?: { ahead: number }
}

/** A service with its DNS servers and one web server. */
export interface Fixture {
  readonly service: TestService
  /** One for each perspective. */
  readonly dns: readonly TestDns[]
  readonly site: HttpsSite
  readonly now: () => number
  /** Puts the same TXT records on every resolver. */
  txt(name: string, ...records: readonly (string | readonly string[])[]): void
}

export async function startChannelFixture(
  t: { after(end: () => unknown): void },
  { resolvers = 1, names = [DOMAIN], env = {}, clock = { ahead: 0 } }: Options = {},
): Promise<Fixture> {
  const dns = await Promise.all(Array.from({ length: resolvers }, () => startDnsServer(t)))
  const site = await startHttpsSite(t, names)
  const now = () => Date.now() + clock.ahead
  const service = await startTestService(t, { ...outsideEnv(dns, [site]), ...env }, now)
  const txt: Fixture['txt'] = (name, ...records) => {
    for (const each of dns) each.set(name, 'TXT', records)
  }
  return { service, dns, site, now, txt }
}

/** A signed-in owner and one of their agents. */
export interface Prover {
  readonly owner: SignedInOwner
  readonly key: TestKey
  readonly did: string
}

export async function newProver(fixture: Fixture): Promise<Prover> {
  const { service } = fixture
  return newAgentOf(fixture, await service.operator.addVerifiedOwner())
}

/** Claims another agent of an owner. */
export async function newAgentOf(
  { service, now }: Fixture,
  ownerId: number,
  agentId = 'main',
): Promise<Prover> {
  const key = newKey()
  const did = await claimAgent(service, ownerId, key, agentId)
  return { owner: await signIn(service, ownerId, now()), key, did }
}

/** Signs the same owner in again, after the clock has moved past the end of the session. */
export async function signInAgain(
  { service, now }: Fixture,
  { owner, ...rest }: Prover,
): Promise<Prover> {
  return { owner: await signIn(service, owner.ownerId, now()), ...rest }
}

function channelsOf({ did }: Prover): string {
  return `/api/account/agents/${did}/channels`
}

export function postChannel(prover: Prover, kind: string, handleOrDomain: string) {
  return prover.owner.post(channelsOf(prover), { kind, handleOrDomain })
}

/** Adds a channel and asserts success. */
export async function addChannel(
  prover: Prover,
  kind: string,
  handleOrDomain = DOMAIN,
): Promise<OwnerChannel> {
  const answer = await postChannel(prover, kind, handleOrDomain)
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<OwnerChannel>(answer)
}

/** Requests a check or a fresh token. */
export function postAction(prover: Prover, { id }: OwnerChannel, action: 'check' | 'renew') {
  return prover.owner.post(`${channelsOf(prover)}/${id}/${action}`)
}

/** Requests a check or a fresh token and asserts success. */
export async function runAction(
  prover: Prover,
  channel: OwnerChannel,
  action: 'check' | 'renew',
): Promise<OwnerChannel> {
  const answer = await postAction(prover, channel, action)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<OwnerChannel>(answer)
}

/** Checks a channel. @returns its state afterwards, the outcome, and the result of each perspective */
export async function check(prover: Prover, channel: OwnerChannel) {
  const after = await runAction(prover, channel, 'check')
  const [last] = after.checks
  assert.ok(last, 'the check is recorded')
  return { state: after.state, outcome: outcomeOf(last), seen: last.perspectives, channel: after }
}

function outcomeOf({ outcome }: ChannelCheck) {
  return outcome
}

export async function listChannels(prover: Prover): Promise<OwnerChannel[]> {
  const answer = await prover.owner.get(channelsOf(prover))
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<{ channels: OwnerChannel[] }>(answer).channels
}

/** The fields to copy for one method of proof. @returns a function from a field's label to its value */
export function proofField(channel: OwnerChannel, method: string): (label: string) => string {
  const found = channel.proof?.methods.find(({ id }) => id === method)
  assert.ok(found, `${method} is a method of proof`)
  return (label) => {
    const field = found.fields.find((each) => each.label === label)
    assert.ok(field, `${label} is a field to copy`)
    return field.value
  }
}

/** Lets an agent prove the domain, keeping other lines in the record. @returns the line that proves it */
export async function prove(
  fixture: Fixture,
  prover: Prover,
  ...others: readonly string[]
): Promise<string> {
  const channel = await addChannel(prover, 'domain')
  const line = proofField(channel, 'dns')('Value')
  fixture.txt(NAME, ...others, line)
  assert.equal((await check(prover, channel)).state, 'verified')
  return line
}

/** The public view of an agent: its grade and channels. */
export async function publicView({ service }: Fixture, { did }: Prover) {
  const [grade, card] = await Promise.all([
    ask(service, `/api/agents/${did}/grade`),
    ask(service, `/api/agents/${did}/card`),
  ])
  const { channels } = jsonOf<Card>(card)
  return {
    grade: jsonOf<GradeAnswer>(grade).grade,
    channels: channels.map(({ kind, handleOrDomain }) => `${kind} ${handleOrDomain}`),
  }
}
