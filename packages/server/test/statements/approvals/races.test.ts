import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AccountExport } from '@countersign/protocol'
import { approvalChallenge, decodeBase64Url } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import {
  APPROVALS,
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
import { startTestService, type TestService } from '../../../../../test/support/service.ts'

let service: TestService
const ends: (() => unknown)[] = []
before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
})
after(async () => {
  for (const end of ends.reverse()) await end()
})

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).toSorted()

test('of many decisions at once one counts', async () => {
  const world = await newApprovalWorld(service)
  const { owner } = world
  const other = {
    owner,
    authenticator: await givePasskey(service, owner.ownerId, Date.now() - 80 * 3_600_000),
  }
  const { id } = await asked(world)
  const [mine, phone] = [await assertionFor(world, id), await assertionFor(other, id)]
  const at = `${APPROVALS}/${id}`
  const answers = await Promise.all([
    ...[mine, phone, mine, phone].map((response) => owner.post(`${at}/approve`, { response })),
    ...[false, false, false].map((turnOff) => owner.post(`${at}/deny`, { turnOff })),
  ])
  const [first, ...others] = statuses(answers)
  assert.equal(first, 200)
  assert.deepEqual(new Set(others), new Set([409]))
  const decided = answers.find(({ status }) => status === 200)
  const { state } = jsonOf(decided as Answer)
  assert.equal((await progressOf(service, id)).state, state)
  const { db } = service.operator
  const events = await db.read
    .selectFrom('events')
    .select('seq')
    .where('tail', '=', world.did.slice(-24))
    .where('type', '=', 'agent.approval_decided')
    .execute()
  assert.equal(events.length, 1)
})

test('the same question at once is one, and of many only three are put to the owner', async () => {
  const world = await newApprovalWorld(service)
  const same = await Promise.all(Array.from({ length: 6 }, () => askApproval(world, order(1))))
  assert.deepEqual(statuses(same), [200, 200, 200, 200, 200, 201])
  assert.equal(new Set(same.map((each) => jsonOf(each).id)).size, 1)
  const many = await Promise.all(
    Array.from({ length: 6 }, (_, i) => askApproval(world, order(i + 2))),
  )
  assert.deepEqual(statuses(many), [201, 201, 429, 429, 429, 429])
})

test('an export has the statement and what the passkey signed, and an erasure leaves neither', async () => {
  const world = await newApprovalWorld(service)
  const { id } = await asked(world, { ...order(1), message: 'Printer paper' })
  assert.equal((await approve(world, id)).status, 200)
  assert.equal((await deny(world, (await asked(world, order(2))).id)).status, 200)
  const exported = jsonOf<AccountExport>(await world.owner.get('/api/account/export'))
  const [first, second] = exported.approvals
  assert.deepEqual([first?.state, second?.state, second?.assertion], ['approved', 'denied', null])
  const { clientData = '' } = first?.assertion ?? {}
  const { challenge } = JSON.parse(String(Buffer.from(decodeBase64Url(clientData) ?? [])))
  const signed = approvalChallenge('svc', first?.statement ?? '')
  assert.equal(challenge, Buffer.from(signed).toString('base64url'))
  const { db } = service.operator
  const { owner } = world
  const row = await db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', owner.ownerId)
    .executeTakeFirstOrThrow()
  const deleted = await owner.post('/api/account/deletion', { username: row.username })
  assert.equal(deleted.status, 200, deleted.text)
  const left = await db.read.selectFrom('approvals').select('id').where('id', '=', id).execute()
  assert.deepEqual(left, [])
  assert.equal((await fetch(`${service.url}/api/v1/approvals/${id}`)).status, 404)
})
