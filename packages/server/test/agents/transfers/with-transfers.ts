import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Role, Transfer, Transfers } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { actingFor } from '../../../../../test/support/organisations.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { HOUR_MS, signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { newMembershipId } from '../../../src/accounts/organisations/organisations.ts'
import { ownerByUsername } from '../../../src/accounts/owner-table.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import type { AgentRow, OwnerRow } from '../../../src/database/database.ts'

export const TRANSFERS = '/api/account/transfers'
export const AGENTS = '/api/account/agents'

/** A service with a movable clock, on which agents move. */
export class TransferWorld {
  readonly service: TestService
  readonly clock: TestClock

  constructor(service: TestService, clock: TestClock) {
    this.service = service
    this.clock = clock
  }

  static async start(t: Cleanup, env: Readonly<Record<string, string>> = {}) {
    const clock = new TestClock()
    return new TransferWorld(await startTestService(t, env, clock.now), clock)
  }

  /** A verified person, signed in with a passkey that they have had for 80 hours. */
  async person(username: string): Promise<SignedInOwner> {
    const ownerId = await this.service.operator.addVerifiedOwner(username)
    return this.signInBy(ownerId)
  }

  signInBy(ownerId: number): Promise<SignedInOwner> {
    return signInBy(this.service, ownerId, this.clock.now)
  }

  /** An organisation that a person creates. @returns its first admin, who acts for it */
  async organisation(founder: SignedInOwner, username = 'acme'): Promise<SignedInOwner> {
    const created = await founder.post('/api/organisations', { username, displayName: 'Acme' })
    assert.equal(created.status, 201, created.text)
    const { id } = await this.ownerOf(username)
    return { ...actingFor(founder, username), ownerId: id }
  }

  async ownerOf(username: string): Promise<OwnerRow> {
    return (await ownerByUsername(this.service.operator.db.read, username)) as OwnerRow
  }

  /** Adds a person to an organisation. @param hours since when they have the role */
  async member(organisation: string, person: SignedInOwner, role: Role, hours = 80) {
    const { id } = await this.ownerOf(organisation)
    const since = this.clock.now() - hours * HOUR_MS
    const membership = newMembershipId(randomBytes)
    await this.service.operator.db.write((tx) =>
      insertMembership(tx, {
        id: membership,
        org_id: id,
        person_id: person.ownerId,
        role,
        role_since: since,
        source: 'manual',
        created_at: since,
        ended_at: null,
        end_reason: null,
      }),
    )
    return { ...actingFor(person, organisation), membership }
  }

  async verify(ownerId: number): Promise<void> {
    const subject = { provider: 'in-person', issuer: 'host', subject: `verified ${ownerId}` }
    const verified = { ...subject, assurance: 'substantial', expiresAt: null } as const
    await verifyOwner({ ...this.service.operator, now: this.clock.now }, ownerId, verified)
  }

  claim(ownerId: number, key: TestKey = newKey(), label = 'main'): Promise<string> {
    return claimAgent(this.service, ownerId, key, label)
  }

  async agent(did: string): Promise<AgentRow> {
    return (await agentByTail(this.service.operator.db.read, did.slice(-24))) as AgentRow
  }

  /** Waits until the transfer of an agent has taken effect. */
  async untilMoved(did: string, toOwner: number): Promise<void> {
    await untilTicked(this.service, async () => (await this.agent(did)).owner_id === toOwner)
  }
}

export function start(
  owner: SignedInOwner,
  agents: readonly string[],
  to: string,
): Promise<Answer> {
  return owner.post(TRANSFERS, { agents, to })
}

/** Starts a transfer. @returns its id */
export async function offer(
  owner: SignedInOwner,
  agents: readonly string[],
  to: string,
): Promise<string> {
  const answer = await start(owner, agents, to)
  assert.equal(answer.status, 201, answer.text)
  assert.equal(jsonOf(answer).state, 'offered')
  return jsonOf(answer).id as string
}

export function accept(owner: SignedInOwner, id: string): Promise<Answer> {
  return owner.post(`${TRANSFERS}/${id}/accept`)
}

/** Accepts a transfer. */
export async function accepted(owner: SignedInOwner, id: string): Promise<Transfer> {
  const answer = await accept(owner, id)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Transfer>(answer)
}

export async function transfersOf(owner: SignedInOwner): Promise<Transfers['transfers']> {
  return jsonOf<Transfers>(await owner.get(TRANSFERS)).transfers
}

/** The state of the newest transfer, with its error code. */
export async function stateOf(owner: SignedInOwner): Promise<unknown[]> {
  const [newest] = await transfersOf(owner)
  return [newest?.state, newest?.failure]
}
