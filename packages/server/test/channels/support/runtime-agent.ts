import assert from 'node:assert/strict'
import type { OwnerChannel, OwnerChannels, RuntimeChallenge } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS

/** A clock for the service that only moves when told to. */
export class Clock {
  time = Date.now()
  readonly now = () => this.time

  move(ms: number): void {
    this.time += ms
  }

  /** The time in the API's format. */
  at(ms = 0): string {
    return new Date(this.time + ms).toISOString()
  }
}

/** An agent with its key and its owner. */
export interface RuntimeAgent {
  readonly service: TestService
  readonly clock: Clock
  readonly ownerId: number
  readonly key: TestKey
  readonly did: string
  /** Signs its owner in at the clock's time. */
  owner(): Promise<SignedInOwner>
  /** Adds the channel, or requests a fresh proof. */
  add(handleOrDomain?: string): Promise<OwnerChannel>
  channel(): Promise<OwnerChannel>
  challenge(): Promise<string>
  /** Signs a challenge (by default a new one) and sends the answer. */
  answer(challenge?: string, signature?: string): Promise<Answer>
  /** The agent's events after its claim: types and payloads. */
  events(): Promise<[type: string, payload: object][]>
  card(): Promise<{ grade: string; channels: object[] }>
}

export async function startWithRuntimeAgent(
  t: Parameters<typeof startTestService>[0],
  env: Readonly<Record<string, string>> = {},
): Promise<RuntimeAgent> {
  const clock = new Clock()
  return newRuntimeAgent(await startTestService(t, env, clock.now), clock)
}

/** Adds a verified owner with an agent to the same service. */
export async function newRuntimeAgent(service: TestService, clock: Clock): Promise<RuntimeAgent> {
  const ownerId = await service.operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, ownerId, key)
  const owner = () => signIn(service, ownerId, clock.time)
  const runtime = `/api/agents/${did}/runtime`
  const channels = `/api/account/agents/${did}/channels`
  const challenge = async () => {
    const asked = await post(service, `${runtime}/challenge`, {})
    assert.equal(asked.status, 200, asked.text)
    return jsonOf<RuntimeChallenge>(asked).challenge
  }
  return {
    service,
    clock,
    ownerId,
    key,
    did,
    owner,
    challenge,
    async add(handleOrDomain = 'home-server') {
      const added = await (await owner()).post(channels, { kind: 'runtime', handleOrDomain })
      assert.equal(added.status, 201, added.text)
      return jsonOf<OwnerChannel>(added)
    },
    async channel() {
      const listed = jsonOf<OwnerChannels>(await (await owner()).get(channels)).channels
      const channel = listed.find(({ kind }) => kind === 'runtime')
      assert.ok(channel, 'there is a runtime channel')
      return channel
    },
    async answer(text, signature) {
      const answered = text ?? (await challenge())
      const body = { challenge: answered, signature: signature ?? key.sign(answered) }
      return post(service, runtime, body)
    },
    async events() {
      const rows = await service.operator.db.read
        .selectFrom('events')
        .select(['type', 'payload'])
        .where('tail', '=', did.slice(-24))
        .where('type', '!=', 'agent.claimed')
        .orderBy('seq')
        .execute()
      return rows.map(({ type, payload }) => [type, JSON.parse(payload) as object])
    },
    card: async () => jsonOf(await ask(service, `/api/agents/${did}/card`)),
  }
}
