import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES, type Role } from '@countersign/protocol'
import fc from 'fast-check'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { MemberModel, type Step } from './member-model.ts'
import { accept, INVITATIONS, MEMBERS } from './with-members.ts'

const PERSONS = 4

/** What comes often comes twice. */
const OFTEN: readonly Step['what'][] = [
  ...(['invite', 'invite', 'accept', 'accept', 'change', 'change', 'remove'] as const),
  ...(['decline', 'withdraw', 'createKey', 'editByKey', 'read', 'edit', 'issueToken'] as const),
]

/** Usernames that look alike are refused: letters instead of digits. */
const nameOf = (run: number) =>
  `acme-${[...String(run)].map((digit) => 'abcdefghjk'[Number(digit)]).join('')}`

const steps = fc.array(
  fc.record({
    what: fc.constantFrom(...OFTEN),
    // The founder, who stays an admin for long, acts most.
    by: fc.constantFrom(0, 0, 0, 1, 2, 3),
    of: fc.nat(PERSONS - 1),
    role: fc.constantFrom(...ROLES),
  }),
  { minLength: 20, maxLength: 40 },
)

const twoRoles = fc.tuple(fc.constantFrom(...ROLES), fc.constantFrom(...ROLES))

/** Takes steps over HTTP, with the invitations and API keys that they made. */
class Runner {
  readonly #service: TestService
  readonly #organisation: string
  readonly #orgId: number
  readonly #did: string
  readonly #persons: readonly SignedInOwner[]
  readonly #invitations = new Map<number, string>()
  readonly #secrets = new Map<number, string>()

  constructor(
    service: TestService,
    acme: { readonly username: string; readonly id: number },
    did: string,
    persons: readonly SignedInOwner[],
  ) {
    this.#service = service
    this.#organisation = acme.username
    this.#orgId = acme.id
    this.#did = did
    this.#persons = persons
  }

  /** @returns the status of the answer */
  async take({ what, by, of, role }: Step): Promise<number> {
    const agent = `/api/account/agents/${this.#did}`
    const invitation = this.#invitations.get(of) ?? 'none'
    switch (what) {
      case 'invite': {
        const body = { username: this.#name(of), role }
        const answer = await this.#send(by, 'POST', INVITATIONS, body)
        if (answer.status === 201) this.#invitations.set(of, jsonOf<{ id: string }>(answer).id)
        return answer.status
      }
      case 'withdraw':
        return (await this.#send(by, 'DELETE', `${INVITATIONS}/${invitation}`)).status
      case 'accept':
        return (await accept(this.#person(of), invitation, role)).status
      case 'decline':
        return (await this.#person(of).post(`/api/invitations/${invitation}/decline`)).status
      case 'change':
        return (await this.#send(by, 'PATCH', await this.#memberPath(of), { role })).status
      case 'remove':
        return (await this.#send(by, 'DELETE', await this.#memberPath(of))).status
      case 'createKey': {
        const body = { name: 'CI', scopes: ['agents:write'] }
        const answer = await this.#send(by, 'POST', '/api/account/api-keys', body)
        if (answer.status === 201) {
          this.#secrets.set(by, jsonOf<{ secret: string }>(answer).secret)
        }
        return answer.status
      }
      case 'editByKey': {
        const authorization = `Bearer ${this.#secrets.get(by) ?? `svc-key-${'0'.repeat(32)}`}`
        const headers = { authorization, 'content-type': 'application/json' }
        const body = JSON.stringify({ displayName: 'Buyer' })
        const request = { method: 'PATCH', headers, body }
        return (await fetch(this.#service.url + agent, request)).status
      }
      case 'read':
        return (await this.#send(by, 'GET', agent)).status
      case 'edit':
        return (await this.#send(by, 'PATCH', agent, { displayName: 'Buyer' })).status
      case 'issueToken':
        return (await this.#send(by, 'POST', '/api/agents/token', {})).status
    }
  }

  #person(index: number): SignedInOwner {
    return this.#persons[index] as SignedInOwner
  }

  #name(index: number): string {
    return index === 0 ? `${this.#organisation}-admin` : `${this.#organisation}-${index}`
  }

  #send(by: number, method: string, target: string, body?: unknown) {
    return this.#person(by).send(method, `${target}?organisation=${this.#organisation}`, body)
  }

  async #memberPath(of: number): Promise<string> {
    const row = await this.#service.operator.db.read
      .selectFrom('memberships')
      .select('id')
      .where('org_id', '=', this.#orgId)
      .where('person_id', '=', this.#person(of).ownerId)
      .where('ended_at', 'is', null)
      .executeTakeFirst()
    return `${MEMBERS}/${row?.id ?? 'none'}`
  }
}

test('random sequences of what members do answer and end as the model says', async (t) => {
  const service = await startTestService(t)
  const reached = new Map<string, number>()
  let runs = 0
  const compare = async (roles: readonly [Role, Role], sequence: readonly Step[]) => {
    runs += 1
    const acme = await createOrganisation(service, nameOf(runs))
    await acme.verify()
    const did = await claimAgent(service, acme.id)
    const persons = [acme.admin.self]
    for (let i = 1; i < PERSONS; i++) {
      const id = await service.operator.addVerifiedOwner(`${acme.username}-${i}`)
      persons.push(await signIn(service, id))
    }
    const [one, two] = roles
    const joining = [
      { what: 'invite', by: 0, of: 1, role: one },
      { what: 'accept', by: 1, of: 1, role: one },
      { what: 'invite', by: 0, of: 2, role: two },
      { what: 'accept', by: 2, of: 2, role: two },
    ] as const
    const model = new MemberModel()
    const runner = new Runner(service, acme, did, persons)
    for (const step of [...joining, ...sequence]) {
      const expected = model.take(step)
      assert.equal(await runner.take(step), expected, JSON.stringify(step))
      const outcome = `${step.what} ${expected}`
      reached.set(outcome, (reached.get(outcome) ?? 0) + 1)
    }
    const rows = await service.operator.db.read
      .selectFrom('memberships')
      .select(['person_id', 'role'])
      .where('org_id', '=', acme.id)
      .where('ended_at', 'is', null)
      .execute()
    const ended = rows.map((row) => [
      persons.findIndex((p) => p.ownerId === row.person_id),
      row.role,
    ])
    assert.deepEqual(new Map(ended as never), new Map([...model.roles]))
    assert.ok([...model.roles.values()].includes('admin'))
  }
  await fc.assert(fc.asyncProperty(twoRoles, steps, compare), {
    numRuns: 30,
    seed: 14,
    endOnFailure: true,
  })
  for (const outcome of [
    ...['invite 201', 'invite 403', 'invite 404', 'invite 409', 'accept 200', 'accept 404'],
    ...['accept 409', 'decline 204', 'withdraw 204', 'change 200', 'change 404', 'change 409'],
    ...['remove 200', 'remove 403', 'remove 404', 'remove 409', 'createKey 201', 'createKey 403'],
    ...['editByKey 200', 'editByKey 401', 'read 200', 'read 404', 'edit 200', 'edit 403'],
  ]) {
    assert.ok((reached.get(outcome) ?? 0) > 0, `${outcome} was not reached`)
  }
})
