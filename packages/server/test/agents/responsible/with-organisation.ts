import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { OwnerAgent } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  actingFor,
  createOrganisation,
  type Member,
  type TestOrganisation,
} from '../../../../../test/support/organisations.ts'
import {
  claimBody,
  type Env,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import type { MembershipEndReason } from '../../../src/accounts/organisations/membership-table.ts'

export const AGENTS = '/api/account/agents'

/** A verified organisation with a manager, at a clock that the test moves. */
export class AcmeWorld {
  readonly clock: TestClock
  readonly service: TestService
  readonly acme: TestOrganisation

  private constructor(clock: TestClock, service: TestService, acme: TestOrganisation) {
    this.clock = clock
    this.service = service
    this.acme = acme
  }

  static async start(t: Pick<TestContext, 'after'>, env: Env = {}): Promise<AcmeWorld> {
    const clock = new TestClock()
    const service = await startTestService(t, env, clock.now)
    const acme = await createOrganisation(service)
    await acme.verify()
    return new AcmeWorld(clock, service, acme)
  }

  get db() {
    return this.service.operator.db
  }

  /** The browser of a member after a new sign-in by a method of 80 hours. */
  async signIn({ self }: Member): Promise<SignedInOwner> {
    const { service, clock, acme } = this
    return actingFor(await signInBy(service, self.ownerId, clock.now), acme.username)
  }

  async issueToken(member: SignedInOwner): Promise<string> {
    const issued = await member.post('/api/agents/token')
    assert.equal(issued.status, 201, issued.text)
    return jsonOf(issued).claimToken as string
  }

  /** Claims an agent with a token of a member. @returns its DID */
  async claimBy(member: SignedInOwner, key: TestKey = newKey()): Promise<string> {
    const token = await this.issueToken(member)
    const claimed = await post(this.service, '/api/v1/claim', claimBody(token, key))
    assert.equal(claimed.status, 200, claimed.text)
    return jsonOf(claimed).svcDid as string
  }

  async agent(did: string): Promise<OwnerAgent> {
    const admin = await this.signIn(this.acme.admin)
    return jsonOf<OwnerAgent>(await admin.get(`${AGENTS}/${did}`))
  }

  /** Ends a membership at the time of the clock. */
  async end({ membership }: Member, reason: MembershipEndReason = 'removed') {
    const ended = await this.db.write((tx) =>
      endMembership(tx, membership, reason, this.clock.now()),
    )
    assert.ok(ended !== null)
    return ended
  }

  /** The notifications of agents without a responsible person, oldest first: their titles and texts. */
  async notices(): Promise<{ readonly title: string; readonly text: string }[]> {
    const admin = await this.signIn(this.acme.admin)
    const answer = await admin.get('/api/account/notifications')
    const { notifications } = jsonOf<{
      notifications: { kind: string; title: string; text: string }[]
    }>(answer)
    return notifications
      .filter(({ kind }) => kind === 'responsible_missing')
      .map(({ title, text }) => ({ title, text }))
      .toReversed()
  }

  /** Moves the clock, and runs jobs until none is due any more. */
  async advance(hours: number): Promise<void> {
    const { service, db, clock } = this
    clock.advance(hours)
    await untilTicked(service, async () => {
      const due = await db.read
        .selectFrom('jobs')
        .select('id')
        .where('run_at', '<=', clock.now())
        .execute()
      return due.length === 0
    })
  }
}
