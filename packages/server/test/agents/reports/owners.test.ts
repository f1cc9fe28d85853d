import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountExport } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  askReport,
  evidenceBy,
  reportBody,
  reportNew,
  sendReport,
} from '../../../../../test/support/reports.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { accepted, offer, TransferWorld } from '../transfers/with-transfers.ts'
import { newAgent, received, reportsOf, reportsPath } from './with-reports.ts'

async function exportOf(owner: SignedInOwner): Promise<AccountExport> {
  const answer = await owner.get('/api/account/export')
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as AccountExport
}

async function deleteAccount(owner: SignedInOwner): Promise<number> {
  const { owner: account } = jsonOf<{ owner: { username: string } }>(
    await owner.get('/api/account'),
  )
  return (await owner.post('/api/account/deletion', { username: account.username })).status
}

async function rowsOf({ operator: { db } }: TestService): Promise<number> {
  const reports = await db.read.selectFrom('reports').select('id').execute()
  const evidence = await db.read.selectFrom('report_evidence').select('report_id').execute()
  return reports.length + evidence.length
}

test('a report stays with the owner at its time', async (t) => {
  const world = await TransferWorld.start(t, { RECOVERY_DELAY: '0' })
  const { service } = world
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const key = newKey()
  const did = await world.claim(ada.ownerId, key, 'main')
  const before = received(await reportNew(service, { did, key }))
  await accepted(grace, await offer(ada, [did], 'grace'))
  assert.deepEqual((await reportsOf(grace, did)).reports, [])
  assertRefused(await grace.get(reportsPath(did, `/${before.id}/evidence`)), 404, 'NOT_FOUND')
  const after = received(await reportNew(service, { did, key }))
  const idsOf = async (owner: SignedInOwner) =>
    (await reportsOf(owner, did)).reports.map(({ id }) => id)
  assert.deepEqual([await idsOf(ada), await idsOf(grace)], [[before.id], [after.id]])
  const text = { text: 'From the former owner.' }
  assert.equal((await ada.post(reportsPath(did, `/${before.id}/answer`), text)).status, 204)
  const { formerReports, agents } = await exportOf(ada)
  assert.deepEqual([formerReports.map(({ id }) => id), agents], [[before.id], []])
  assert.equal((await exportOf(grace)).agents[0]?.reports[0]?.id, after.id)
})

test('the export has reports with their requests, without the contact', async (t) => {
  const service = await startTestService(t)
  const agent = await newAgent(service)
  const contact = 'abuse@shop.example'
  const { id } = received(await reportNew(service, agent, {}, { contact }))
  const { text } = await agent.owner.get('/api/account/export')
  assert.equal(text.includes(contact), false)
  const [exported] = (JSON.parse(text) as AccountExport).agents[0]?.reports ?? []
  assert.equal(exported?.id, id)
  assert.equal(exported?.evidence[0]?.url, 'https://shop.example/search?q=1')
})

test('a deleted account leaves no report, also if one arrives meanwhile', async (t) => {
  const service = await startTestService(t)
  const agent = await newAgent(service)
  const report = received(await reportNew(service, agent))
  const bodies = await Promise.all(
    Array.from({ length: 10 }, async () =>
      reportBody(agent.did, [await evidenceBy(service, agent)]),
    ),
  )
  const [deleted, ...answers] = await Promise.all([
    deleteAccount(agent.owner),
    ...bodies.map((body) => sendReport(service, body)),
  ])
  assert.equal(deleted, 200)
  for (const { status, text } of answers) assert.ok([201, 404].includes(status), text)
  assert.equal(await rowsOf(service), 0)
  assertRefused(await reportNew(service, agent), 404, 'NOT_FOUND', /no agent/)
  assertRefused(await askReport(service, report), 404, 'NOT_FOUND')
})
