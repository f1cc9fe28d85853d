import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolmentRule, EnrolResponse } from '@countersign/protocol'
import fc from 'fast-check'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  endEnrolment,
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
} from '../../../../../test/support/platform.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { newRule, RULES } from './with-rules.ts'

const MINUTE_MS = 60_000
const UNSEEN_MS = 60 * MINUTE_MS
const TOKEN_MS = 10 * MINUTE_MS
const LATE_MS = 15 * MINUTE_MS

/** What happens to a rule, its tokens and its agents. Keys and tokens are numbered. */
type Step =
  | { readonly kind: 'token'; readonly token: number }
  | { readonly kind: 'enrol'; readonly key: number; readonly token: number }
  | { readonly kind: 'suspend' | 'reactivate' | 'revoke' | 'leave'; readonly key: number }
  | { readonly kind: 'pause' | 'resume' | 'end' | 'delete' }
  | { readonly kind: 'seats'; readonly maxLive: number }
  | { readonly kind: 'wait'; readonly minutes: number }

const [KEYS, TOKENS] = [3, 5]
const key = fc.nat({ max: KEYS - 1 })
const token = fc.nat({ max: TOKENS - 1 })
const of = <K extends Step['kind']>(kind: K) => fc.constant(kind)
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: of('token'), token }) },
  { weight: 12, arbitrary: fc.record({ kind: of('enrol'), key, token }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('suspend', 'reactivate', 'revoke', 'leave'),
      key,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('pause') }) },
  { weight: 3, arbitrary: fc.record({ kind: of('resume') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('end', 'delete') }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: of('seats'), maxLive: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: of('wait'), minutes: fc.constantFrom(1, 9, 11, 61, 80, 200) }),
  },
)

interface ModelAgent {
  did: string
  status: 'active' | 'suspended' | 'revoked'
  seenAt: number
  endsAt: number
  /** Of which time that it was seen its end was put off. */
  graceAt: number | null
}

/** What the documentation says, in the simplest form. */
class Model {
  rule: 'active' | 'paused' | 'deleted' = 'active'
  maxLive = 100
  readonly tokens = new Map<number, { expiresAt: number; usedBy: number | null }>()
  /** The latest agent of each key. */
  readonly agents = new Map<number, ModelAgent>()

  live(): ModelAgent[] {
    return [...this.agents.values()].filter(({ status }) => status !== 'revoked')
  }

  /** The answer to an enrolment; those of 200 and 201 change the model. */
  enrol(by: number, tokenNumber: number, at: number): string {
    const used = this.tokens.get(tokenNumber)
    assert.ok(used !== undefined)
    if (this.rule === 'deleted') return '404 NOT_FOUND'
    if (this.rule === 'paused') return '403 FORBIDDEN'
    if (used.expiresAt <= at) return '410 TOKEN_EXPIRED'
    if (used.usedBy !== null && used.usedBy !== by) return '409 CONFLICT'
    const agent = this.agents.get(by)
    if (agent?.status === 'suspended') return '409 AGENT_NOT_ACTIVE'
    const isNew = agent === undefined || agent.status === 'revoked'
    if (isNew && this.live().length >= this.maxLive) return '409 CONFLICT'
    used.usedBy = by
    const seen = { seenAt: at, endsAt: at + UNSEEN_MS, graceAt: null }
    if (!isNew) Object.assign(agent, seen)
    else this.agents.set(by, { did: '', status: 'active', ...seen })
    return isNew ? '201' : '200'
  }

  /** Agents that were not seen end. A service that was down gives them a third of their time again, once. */
  wait(at: number): void {
    for (const agent of this.live()) {
      if (agent.endsAt > at) continue
      if (at - agent.endsAt > LATE_MS && agent.graceAt !== agent.seenAt) {
        Object.assign(agent, { endsAt: at + UNSEEN_MS / 3, graceAt: agent.seenAt })
      } else agent.status = 'revoked'
    }
  }
}

const outcomeOf = ({ status, text }: Answer) =>
  status < 300 ? `${status}` : `${status} ${JSON.parse(text).error.code}`

/** A rule of a new owner at a service whose clock stands still. */
class World {
  readonly model = new Model()
  readonly #service: TestService
  readonly #clock: { at: number }
  readonly #platform: ReturnType<typeof newPlatform>
  readonly #ownerId: number
  readonly #rule: EnrolmentRule
  readonly #keys: readonly TestKey[] = Array.from({ length: KEYS }, () => newKey())
  readonly #tokens = new Map<number, string>()

  constructor(shared: Shared, ownerId: number, rule: EnrolmentRule) {
    this.#service = shared.service
    this.#clock = shared.clock
    this.#platform = shared.platform
    this.#ownerId = ownerId
    this.#rule = rule
  }

  /** @returns what was answered, after it was compared with the model */
  async take(step: Step): Promise<string> {
    const { model } = this
    const { at } = this.#clock
    if (step.kind === 'token') return this.#issue(step.token)
    if (step.kind === 'wait') return this.#wait(step.minutes)
    if (step.kind === 'enrol') return this.#enrol(step.key, step.token)
    if (step.kind === 'leave') return this.#leave(step.key)
    if ('key' in step) return this.#change(step.kind, step.key)
    const path = `${RULES}/${this.#rule.id}`
    const isThere = model.rule !== 'deleted'
    const owner = await signIn(this.#service, this.#ownerId, at)
    const answer =
      step.kind === 'seats'
        ? await owner.send('PATCH', path, { maxLive: step.maxLive })
        : step.kind === 'delete'
          ? await owner.send('DELETE', path)
          : await owner.post(`${path}/${step.kind}`)
    const wanted = { seats: 200, pause: 200, resume: 200, end: 202, delete: 204 }[step.kind]
    assert.equal(outcomeOf(answer), isThere ? `${wanted}` : '404 NOT_FOUND')
    if (!isThere) return outcomeOf(answer)
    if (step.kind === 'seats') model.maxLive = step.maxLive
    else
      model.rule =
        ({ resume: 'active', delete: 'deleted' } as const)[step.kind as 'resume'] ?? 'paused'
    if (step.kind === 'end') {
      await this.#settled()
      for (const agent of model.live()) agent.status = 'revoked'
    }
    return outcomeOf(answer)
  }

  async #issue(number: number): Promise<string> {
    const { at } = this.#clock
    const claims = {
      aud: this.#rule.audience,
      sub: SUBJECT,
      jti: `${number} ${at} ${Math.random()}`,
    }
    this.#tokens.set(number, await this.#platform.token(claims))
    const expiresAt = Math.floor(at / 1000) * 1000 + TOKEN_MS
    this.model.tokens.set(number, { expiresAt, usedBy: null })
    return 'issued'
  }

  async #enrol(by: number, number: number): Promise<string> {
    if (!this.#tokens.has(number)) await this.#issue(number)
    const { at } = this.#clock
    const presented = this.#tokens.get(number) as string
    const issuedAt = Math.floor(at / 1000)
    const body = enrolmentBody(
      this.#service,
      this.#rule.id,
      presented,
      this.#keys[by] as TestKey,
      issuedAt,
    )
    const answer = await enrol(this.#service, body)
    const before = this.model.agents.get(by)?.did
    const wanted = this.model.enrol(by, number, at)
    assert.equal(outcomeOf(answer), wanted, answer.text)
    if (answer.status > 201) return wanted
    const { svcDid, endsAt } = jsonOf<EnrolResponse>(answer)
    const agent = this.model.agents.get(by) as ModelAgent
    if (answer.status === 200) assert.equal(svcDid, before)
    else assert.notEqual(svcDid, before)
    agent.did = svcDid as string
    assert.equal(Date.parse(endsAt), agent.endsAt)
    return wanted
  }

  async #leave(by: number): Promise<string> {
    const agent = this.model.agents.get(by)
    if (agent === undefined) return 'nobody'
    const issuedAt = Math.floor(this.#clock.at / 1000)
    const answer = await endEnrolment(this.#service, agent.did, this.#keys[by] as TestKey, issuedAt)
    assert.equal(outcomeOf(answer), '200', answer.text)
    agent.status = 'revoked'
    return 'left'
  }

  async #change(verb: 'suspend' | 'reactivate' | 'revoke', by: number): Promise<string> {
    const agent = this.model.agents.get(by)
    if (agent === undefined) return 'nobody'
    const owner = await signIn(this.#service, this.#ownerId, this.#clock.at)
    const answer = await owner.post(`/api/account/agents/${agent.did}/${verb}`)
    const to = { suspend: 'suspended', reactivate: 'active', revoke: 'revoked' } as const
    const from = { suspend: ['active'], reactivate: ['suspended'], revoke: ['active', 'suspended'] }
    const isAllowed = from[verb].includes(agent.status)
    assert.equal(outcomeOf(answer), isAllowed ? '200' : '400 VALIDATION_ERROR', answer.text)
    if (isAllowed) agent.status = to[verb]
    return isAllowed ? verb : `no ${verb}`
  }

  async #wait(minutes: number): Promise<string> {
    this.#clock.at += minutes * MINUTE_MS
    await this.#settled()
    this.model.wait(this.#clock.at)
    return 'waited'
  }

  /** Waits until every job of enrolment that is due has run. */
  async #settled(): Promise<void> {
    const { db } = this.#service.operator
    await untilTicked(this.#service, async () => {
      const due = await db.read
        .selectFrom('jobs')
        .select('id')
        .where('kind', 'like', 'end-enrolment%')
        .where('run_at', '<=', this.#clock.at)
        .execute()
      return due.length === 0
    })
  }

  /** Compares what the owner sees with the model. */
  async compare(): Promise<void> {
    const owner = await signIn(this.#service, this.#ownerId, this.#clock.at)
    for (const { did, status, endsAt } of this.model.agents.values()) {
      const answer = await owner.get(`/api/account/agents/${did}`)
      const agent = jsonOf<{ status: string; enrolment: { endsAt: string } }>(answer)
      assert.equal(agent.status, status)
      if (status !== 'revoked') assert.equal(Date.parse(agent.enrolment.endsAt), endsAt)
    }
    if (this.model.rule === 'deleted') return
    const rule = jsonOf<EnrolmentRule>(await owner.get(`${RULES}/${this.#rule.id}`))
    const { live, state } = rule
    assert.deepEqual([live, state], [this.model.live().length, this.model.rule])
  }
}

interface Shared {
  readonly service: TestService
  readonly clock: { at: number }
  readonly platform: ReturnType<typeof newPlatform>
}

async function newWorld(shared: Shared): Promise<World> {
  const { service, clock, platform } = shared
  const ownerId = await service.operator.addVerifiedOwner()
  const owner = await signIn(service, ownerId, clock.at)
  const rule = await newRule(owner, ruleFor(platform, { unseenAfterSeconds: UNSEEN_MS / 1000 }))
  return new World(shared, ownerId, rule)
}

test('sequences of tokens, enrolments, changes, ends and waits give what the model says', async (t) => {
  const clock = { at: Date.now() }
  const service = await startTestService(t, {}, () => clock.at)
  const shared = { service, clock, platform: newPlatform(undefined, () => clock.at) }
  const outcomes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 15, maxLength: 40 }), async (steps) => {
      const world = await newWorld(shared)
      for (const step of steps) {
        const outcome = await world.take(step)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
      await world.compare()
    }),
    // The same sequences each time, so that they are known to reach what they are for.
    { seed: 20, numRuns: 40 },
  )
  for (const reached of ['409 CONFLICT', '409 AGENT_NOT_ACTIVE', '410 TOKEN_EXPIRED', 'left']) {
    assert.ok((outcomes.get(reached) ?? 0) > 0, reached)
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(outcomes)))
})
