import assert from 'node:assert/strict'
import { certificateOf, decodeJws } from '../../../../../test/support/agent-certificates.ts'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { endDelegationsWith, type Signed } from '../../../../../test/support/key-operations.ts'
import { claimAgent, type TestService } from '../../../../../test/support/service.ts'
import { signInBy, type TestClock } from '../../../../../test/support/sign-in-by.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import {
  fedStatuses,
  type Reference,
  referenceIn,
} from '../../../../../test/support/status-feed.ts'
import { until } from '../../../../../test/support/until.ts'
import { AGENTS } from './with-agent.ts'

/** An agent whose owner may allow it to delegate. */
export interface DelegatingAgent {
  readonly owner: SignedInOwner
  readonly key: TestKey
  readonly did: string
}

/** What tests of delegation ask of a service. */
export class Delegations {
  readonly #service: TestService
  readonly #clock: TestClock

  constructor(service: TestService, clock: TestClock) {
    this.#service = service
    this.#clock = clock
  }

  /** An agent of an owner who has just signed in. */
  async claimed(maxDepth = 0): Promise<DelegatingAgent> {
    const ownerId = await this.#service.operator.addVerifiedOwner()
    const owner = await signInBy(this.#service, ownerId, this.#clock.now)
    const key = newKey()
    const did = await claimAgent(this.#service, ownerId, key)
    if (maxDepth > 0) await this.allow({ owner, did }, maxDepth)
    return { owner, key, did }
  }

  put({ owner, did }: Pick<DelegatingAgent, 'owner' | 'did'>, maxDepth: unknown): Promise<Answer> {
    return owner.send('PUT', `${AGENTS}/${did}/delegation`, { maxDepth })
  }

  async allow(
    agent: Pick<DelegatingAgent, 'owner' | 'did'>,
    maxDepth: number,
  ): Promise<{ maxDepth: number; changedAt: string | null }> {
    return jsonOf(ok(await this.put(agent, maxDepth)))
  }

  /** Ends the delegations for the owner. */
  end({ owner, did }: DelegatingAgent): Promise<Answer> {
    return owner.post(`${AGENTS}/${did}/delegation/end`)
  }

  /** Ends the delegations with the first key of the agent. */
  endBy({ did, key }: DelegatingAgent, changed: Partial<Signed> = {}): Promise<Answer> {
    const signed = { ...this.#clock.signed, ...changed }
    return endDelegationsWith(this.#service, did, { old: key, sequence: 1 }, signed)
  }

  async certificate(did: string): Promise<{ depth: number | undefined; entry: Reference }> {
    const token = await certificateOf(this.#service, did)
    return { depth: decodeJws(token).claims.maxDelegationDepth, entry: referenceIn(token) }
  }

  /** Waits until the service knows how far an agent may delegate. */
  untilCertified(did: string, depth: number): Promise<void> {
    return until(async () => (await this.certificate(did)).depth === depth)
  }

  /** Asserts everything that the feed has said about an entry. */
  async assertFed(entry: Reference, expected: number[]): Promise<void> {
    const fed = () => fedStatuses(this.#service, entry)
    await until(async () => (await fed()).length >= expected.length)
    assert.deepEqual(await fed(), expected)
  }

  /** The payloads of the events, oldest first. */
  async eventsOf(did: string): Promise<unknown[]> {
    const rows = await this.#service.operator.db.read
      .selectFrom('events')
      .select('payload')
      .where('tail', '=', did.slice(-24))
      .where('type', '=', 'agent.delegation_changed')
      .orderBy('seq')
      .execute()
    return rows.map(({ payload }) => JSON.parse(payload))
  }

  /** How many notifications an owner has. */
  async notificationsOf({ ownerId }: SignedInOwner): Promise<number> {
    const rows = await this.#service.operator.db.read
      .selectFrom('notifications')
      .select('kind')
      .where('owner_id', '=', ownerId)
      .where('kind', '=', 'agent_delegation_changed')
      .execute()
    return rows.length
  }
}

export function ok(answer: Answer): Answer {
  assert.equal(answer.status, 200, answer.text)
  return answer
}
