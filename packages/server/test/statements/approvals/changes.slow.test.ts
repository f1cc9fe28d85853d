import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { type Answer, assertRefused } from '../../../../../test/support/answer.ts'
import {
  APPROVALS,
  type ApprovalWorld,
  allowApprovals,
  approve,
  askApproval,
  asked,
  assertionFor,
  deny,
  givePasskey,
  newApprovalWorld,
  order,
  progressOf,
} from '../../../../../test/support/approvals.ts'
import type { Authenticator } from '../../../../../test/support/authenticator.ts'
import { fileCleanup } from '../../../../../test/support/file-cleanup.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { rotateTo } from '../../../../../test/support/key-operations.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signInBy } from '../../../../../test/support/sign-in-by.ts'
import { until } from '../../../../../test/support/until.ts'
import { suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import { accepted, offer } from '../../agents/transfers/with-transfers.ts'
import { scraping } from '../../http/metrics/support/scrape.ts'

const AGENTS = '/api/account/agents'
const cleanup = fileCleanup()
const { env, scrape } = await scraping()
let service: TestService

before(async () => {
  service = await startTestService(cleanup, { ...env, RECOVERY_DELAY: '0' })
})

/** An agent whose key was rotated, so that its owner can contest the rotation. */
interface RotatedWorld extends ApprovalWorld {
  readonly first: TestKey
}

async function newWorld(): Promise<RotatedWorld> {
  const world = await newApprovalWorld(service)
  const key = newKey()
  await rotate(world, key, 2)
  return { ...world, key, first: world.key }
}

const ok = (answer: Answer) => assert.ok(answer.status < 300, answer.text)
const rotate = async ({ did, key }: ApprovalWorld, next: TestKey, sequence: number) =>
  ok(await rotateTo(service, did, { old: key, next, sequence }))
const contest = async ({ owner, did }: ApprovalWorld, reason: string) =>
  ok(await owner.post(`${AGENTS}/${did}/keys/contest`, { sequence: 1, reason }))
const change = async ({ owner, did }: ApprovalWorld, to: string) =>
  ok(await owner.post(`${AGENTS}/${did}/${to}`))

async function transfer({ owner: { ownerId }, did }: ApprovalWorld): Promise<void> {
  const { operator } = service
  const to = await operator.addVerifiedOwner()
  const { username } = await operator.db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', to)
    .executeTakeFirstOrThrow()
  const [sender, receiver] = [
    await signInBy(service, ownerId, Date.now),
    await signInBy(service, to, Date.now),
  ]
  await accepted(receiver, await offer(sender, [did], username as string))
}

async function deleteAccount({ owner }: ApprovalWorld): Promise<void> {
  const { username } = await service.operator.db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', owner.ownerId)
    .executeTakeFirstOrThrow()
  ok(await owner.post('/api/account/deletion', { username }))
}

/** What ends an approval; by the doors that owners, agents and operators use. */
const CHANGES: Readonly<Record<string, (world: RotatedWorld) => Promise<unknown>>> = {
  'a rotation': (world) => rotate(world, newKey(), 3),
  'a contest by mistake': (world) => contest(world, 'mistake'),
  'a contest by compromise': (world) => contest(world, 'key_compromised'),
  'a suspension': (world) => change(world, 'suspend'),
  'a revocation': (world) => change(world, 'revoke'),
  'a transfer': transfer,
  'turning off': (world) => allowApprovals(world, false),
  'the suspension of the owner': ({ owner }) =>
    suspendOwner({ db: service.operator.db, now: Date.now }, owner.ownerId, 'fraud'),
  'the deletion of the account': deleteAccount,
}

/** Nobody gets a token any more. */
async function assertEnded(id: string, what: string): Promise<void> {
  const response = await fetch(`${service.url}/api/v1/approvals/${id}`)
  const { state, token } = (await response.json()) as { state?: string; token?: string }
  assert.equal(token, undefined, what)
  if (what === 'the deletion of the account') assert.equal(response.status, 404)
  else assert.equal(state, 'cancelled', what)
}

suite('an approval and a change of its agent', () => {
  for (const [what, happens] of Object.entries(CHANGES)) {
    const isDeletion = what === 'the deletion of the account'
    const refusals = isDeletion ? [401] : [409]
    const approveWith = ({ owner }: ApprovalWorld, id: string, response: unknown) =>
      owner.post(`${APPROVALS}/${id}/approve`, { response })

    test(`after ${what} nobody approves or denies what is pending`, async () => {
      const world = await newWorld()
      const { id } = await asked(world)
      const response = await assertionFor(world, id)
      await happens(world)
      const answers = [await approveWith(world, id, response), await deny(world, id)]
      for (const answer of answers) {
        assert.ok(refusals.includes(answer.status), `${what}: ${answer.text}`)
      }
      await assertEnded(id, what)
    })

    test(`${what} ends an approval that was given`, async () => {
      const world = await newWorld()
      const { id } = await asked(world)
      ok(await approve(world, id))
      assert.notEqual((await progressOf(service, id)).token, undefined)
      await happens(world)
      await assertEnded(id, what)
    })

    test(`of an approval and ${what} at once, one is first`, async () => {
      const world = await newWorld()
      const { id } = await asked(world)
      const response = await assertionFor(world, id)
      const [answer] = await Promise.all([approveWith(world, id, response), happens(world)])
      assert.ok([200, ...refusals, 404].includes(answer.status), answer.text)
      await assertEnded(id, what)
    })
  }

  test('a transfer turns asking off, and the new owner sees nothing of before', async () => {
    const world = await newWorld()
    const { id } = await asked(world)
    await transfer(world)
    assertRefused(await askApproval(world, order(2)), 403, 'FORBIDDEN', /turn on/)
    const { owner_id } = await agentOf(world)
    const receiver = await signInBy(service, owner_id, Date.now)
    assertRefused(await receiver.get(`${APPROVALS}/${id}`), 404, 'NOT_FOUND')
    await allowApprovals({ ...world, owner: receiver })
    const again = await asked(world, order(2))
    assert.equal((await receiver.get(`${APPROVALS}/${again.id}`)).status, 200)
    // It stays cancelled, although asking is on and the key is the same.
    await assertEnded(id, 'a transfer')
  })
})

const agentOf = ({ did }: ApprovalWorld) =>
  service.operator.db.read
    .selectFrom('agents')
    .select(['owner_id', 'approvals'])
    .where('tail', '=', did.slice(-24))
    .executeTakeFirstOrThrow()

/** Sends a request that waits for the writes of another process, which change what it has read. */
async function meanwhile(
  change: (tx: Parameters<Parameters<typeof service.operator.db.write>[0]>[0]) => Promise<unknown>,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const { promise: changed, resolve: onChanged } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const writing = service.operator.db.write(async (tx) => {
    await change(tx)
    onChanged()
    await released
  })
  await changed
  const sending = send()
  await until(async () => ((await scrape()).get('countersign_writes_waiting') ?? 0) > 0)
  release()
  await writing
  return sending
}

const idOf = ({ passkeys }: Authenticator) => passkeys[0]?.id.toString('base64url') ?? ''

suite('what another node has changed while a decision waits', () => {
  const cases: [
    what: string,
    status: number,
    code: Parameters<typeof assertRefused>[2],
    change: (world: ApprovalWorld) => Parameters<typeof meanwhile>[0],
    denied?: boolean,
  ][] = [
    [
      'the key of the agent',
      409,
      'AGENT_NOT_ACTIVE',
      ({ did }) =>
        ({ db }) =>
          db
            .updateTable('agents')
            .set((eb) => ({ key_sequence: eb('key_sequence', '+', 1) }))
            .where('tail', '=', did.slice(-24))
            .execute(),
      true,
    ],
    [
      'the session, which has ended',
      401,
      'UNAUTHENTICATED',
      ({ owner }) =>
        ({ db }) =>
          db.deleteFrom('sessions').where('owner_id', '=', owner.ownerId).execute(),
      true,
    ],
    [
      'the decision',
      409,
      'CONFLICT',
      ({ did }) =>
        ({ db }) =>
          db
            .updateTable('approvals')
            .set({ state: 'denied', decided_at: Date.now() })
            .where('tail', '=', did.slice(-24))
            .execute(),
      true,
    ],
    [
      'the passkey, which was removed',
      401,
      'INVALID_SIGNATURE',
      ({ authenticator }) =>
        ({ db }) =>
          db.deleteFrom('passkeys').where('credential_id', '=', idOf(authenticator)).execute(),
    ],
  ]
  for (const [what, status, code, change, isDenied = false] of cases) {
    test(`refuses it: ${what}`, async () => {
      const world = await newApprovalWorld(service)
      const { id } = await asked(world)
      const response = await assertionFor(world, id)
      // A person without one could not approve anyway.
      await givePasskey(service, world.owner.ownerId, Date.now() - 80 * 3_600_000)
      const approving = await meanwhile(change(world), () =>
        world.owner.post(`${APPROVALS}/${id}/approve`, { response }),
      )
      assertRefused(approving, status, code)
      assert.notEqual((await progressOf(service, id)).state, 'approved')
      if (!isDenied) return
      const another = await newApprovalWorld(service)
      const pending = await asked(another)
      const denying = await meanwhile(change(another), () => deny(another, pending.id))
      assertRefused(denying, status, code)
    })
  }

  test('refuses a switch: the session has ended', async () => {
    const { owner, did } = await newApprovalWorld(service)
    const ended: Parameters<typeof meanwhile>[0] = ({ db }) =>
      db.deleteFrom('sessions').where('owner_id', '=', owner.ownerId).execute()
    const answer = await meanwhile(ended, () =>
      owner.send('PUT', `${AGENTS}/${did}/approvals`, { enabled: false }),
    )
    assertRefused(answer, 401, 'UNAUTHENTICATED')
  })

  test('refuses a question: the key, the status, asking or the owner', async () => {
    const agents = (values: object) => (world: ApprovalWorld) => {
      const tail = world.did.slice(-24)
      return ({ db }: Parameters<Parameters<typeof meanwhile>[0]>[0]) =>
        db.updateTable('agents').set(values).where('tail', '=', tail).execute()
    }
    const other = new Uint8Array(Buffer.from(newKey().publicKey, 'base64'))
    const all = [
      ['CONFLICT', agents({ public_key: other })],
      ['AGENT_NOT_ACTIVE', agents({ status: 'suspended', status_set_by: 'owner' })],
      ['FORBIDDEN', agents({ approvals: 0 })],
      [
        'FORBIDDEN',
        (world: ApprovalWorld) =>
          ({ db }: Parameters<Parameters<typeof meanwhile>[0]>[0]) =>
            db
              .updateTable('owners')
              .set({ suspended_at: 1 })
              .where('id', '=', world.owner.ownerId)
              .execute(),
      ],
    ] as const
    for (const [code, change] of all) {
      const world = await newApprovalWorld(service)
      const answer = await meanwhile(change(world), () => askApproval(world))
      assertRefused(answer, code === 'FORBIDDEN' ? 403 : 409, code)
    }
  })
})
