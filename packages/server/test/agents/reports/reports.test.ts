import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { ReportState } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import {
  askReport,
  evidenceBy,
  reportBody,
  reportNew,
  sendReport,
} from '../../../../../test/support/reports.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { newAgent, received, reportsOf, reportsPath } from './with-reports.ts'

const DAY_HOURS = 24
const ends: (() => unknown)[] = []
const clock = new TestClock()
let service: TestService

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
})
after(async () => {
  for (const end of ends) await end()
})
afterEach(() => {
  clock.offset = 0
})

interface Notifications {
  readonly notifications: readonly {
    readonly kind: string
    readonly title: string
    readonly text: string
    readonly link: string
  }[]
}

async function reportNotifications(owner: { get(target: string): Promise<Answer> }) {
  const { notifications } = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
  return notifications.filter(({ kind }) => kind === 'report')
}

test('the owner is notified, answers once, and the site reads the answer with its token', async () => {
  const agent = await newAgent(service)
  const contact = 'abuse@shop.example'
  const report = received(await reportNew(service, agent, {}, { contact }))
  assert.match(report.token, /^svc-report-[0-9a-f]{32}$/)
  const [notification] = await reportNotifications(agent.owner)
  assert.match(notification?.title ?? '', /requests to shop\.example were reported/)
  assert.equal(notification?.text.includes('search'), false, 'the query is only on the page')
  assert.equal(notification?.link, `/dashboard/agents/${agent.did}/reports`)
  const activity = jsonOf<{ events: { type: string; facts: object }[] }>(
    await agent.owner.get('/api/account/activity'),
  )
  const [event] = activity.events.filter(({ type }) => type === 'owner.report_received')
  const facts = { agent: agent.did, category: 'rate', host: 'shop.example', report: report.id }
  assert.deepEqual(event?.facts, facts)
  const stateOf = async () => jsonOf<ReportState>(await askReport(service, report))
  const { id } = report
  assert.deepEqual(await stateOf(), { id, state: 'open', answer: null, answeredAt: null })
  const answerPath = reportsPath(agent.did, `/${id}/answer`)
  const text = 'It is fixed.'
  assert.equal((await agent.owner.post(answerPath, { text })).status, 204)
  assertRefused(await agent.owner.post(answerPath, { text }), 409, 'CONFLICT', /answered/)
  const { state, answer, answeredAt } = await stateOf()
  assert.deepEqual([state, answer, typeof answeredAt], ['answered', text, 'string'])
  const { reports } = await reportsOf(agent.owner, agent.did)
  assert.deepEqual(
    reports.map((each) => [each.id, each.contact, each.answer]),
    [[id, contact, text]],
  )
})

test('the certificate page says where to report the agent', async () => {
  const { did } = await newAgent(service)
  const { text } = await ask(service, `/agent/${did}`)
  assert.match(text, /href="\/docs\/reports"[^>]*>Report this agent</)
  assert.equal((await ask(service, '/docs/reports')).status, 200)
})

test('a wrong token, another owner and another agent see nothing of a report', async () => {
  const [agent, stranger] = [await newAgent(service), await newAgent(service)]
  const report = received(await reportNew(service, agent))
  const wrong = `svc-report-${'0'.repeat(32)}`
  for (const method of ['GET', 'DELETE']) {
    for (const token of [null, wrong, `${report.token}0`]) {
      const answer = await askReport(service, { ...report, token }, method)
      assertRefused(answer, 404, 'NOT_FOUND')
    }
    const guessed = await askReport(service, { ...report, id: `rp_${'1'.repeat(22)}` }, method)
    assertRefused(guessed, 404, 'NOT_FOUND')
  }
  const paths = ['', `/${report.id}/evidence`]
  for (const path of paths) {
    assertRefused(await stranger.owner.get(reportsPath(agent.did, path)), 404, 'NOT_FOUND')
  }
  const own = reportsPath(stranger.did, `/${report.id}`)
  assertRefused(await stranger.owner.get(`${own}/evidence`), 404, 'NOT_FOUND')
  const answer = { text: 'Not mine.' }
  assertRefused(await stranger.owner.post(`${own}/answer`, answer), 404, 'NOT_FOUND')
  const anonymous = await ask(service, reportsPath(agent.did))
  assertRefused(anonymous, 401, 'UNAUTHENTICATED')
})

test('a suspended owner reads reports, and answers none', async () => {
  const agent = await newAgent(service)
  const { id } = received(await reportNew(service, agent))
  const { db } = service.operator
  const [{ username } = { username: '' }] = await db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', agent.owner.ownerId)
    .execute()
  const { code, stderr } = await countersignd(service.env, 'owner', 'suspend', username)
  assert.equal(code, 0, stderr)
  assert.equal((await reportsOf(agent.owner, agent.did)).reports.length, 1)
  const answer = await agent.owner.post(reportsPath(agent.did, `/${id}/answer`), { text: 'x' })
  assertRefused(answer, 403, 'FORBIDDEN', /suspended/)
})

test('a member needs the role responder', async () => {
  const acme = await createOrganisation(service, 'reported')
  await acme.verify()
  const key = newKey()
  const did = await claimAgent(service, acme.id, key)
  const { id } = received(await reportNew(service, { did, key }))
  const viewer = await acme.addMember('vera', 'viewer')
  const responder = await acme.addMember('rene', 'responder')
  for (const path of ['', `/${id}/evidence`]) {
    assertRefused(await viewer.get(reportsPath(did, path)), 403, 'FORBIDDEN', /responder/)
    assert.equal((await responder.get(reportsPath(did, path))).status, 200)
  }
  const answerPath = reportsPath(did, `/${id}/answer`)
  assertRefused(await viewer.post(answerPath, { text: 'x' }), 403, 'FORBIDDEN', /responder/)
  assert.equal((await responder.post(answerPath, { text: 'x' })).status, 204)
})

test('texts are shown as they are, except what could pass for something else', async () => {
  const agent = await newAgent(service)
  const text = 'See https://evil.example/ <b onmouseover="x">now</b>\nعربي'
  received(await reportNew(service, agent, {}, { text }))
  assert.equal((await reportsOf(agent.owner, agent.did)).reports[0]?.text, text)
  const refused = [
    '',
    'a\u202eb',
    'a\u2066b',
    'a\u0000b',
    'a\u0007',
    '✔ verified',
    'x'.repeat(1001),
  ]
  for (const bad of refused) {
    const answer = await reportNew(service, agent, {}, { text: bad })
    assertRefused(answer, 400, 'VALIDATION_ERROR', /text/)
  }
  for (const contact of ['', 'somebody', 'a@b', 'a@b.example\nBcc: c@d.example']) {
    const answer = await reportNew(service, agent, {}, { contact })
    assertRefused(answer, 400, 'VALIDATION_ERROR', /contact/)
  }
  const many = await Promise.all(Array.from({ length: 6 }, () => evidenceBy(service, agent)))
  const six = await sendReport(service, reportBody(agent.did, many))
  assertRefused(six, 400, 'VALIDATION_ERROR', /evidence/)
  received(await sendReport(service, reportBody(agent.did, many.slice(0, 5))))
})

test('nobody is mailed because of a contact', async () => {
  const agent = await newAgent(service)
  received(await reportNew(service, agent, {}, { contact: 'stranger@mail.example' }))
  const { db } = service.operator
  const rows = await db.read.selectFrom('email_outbox').select('address').execute()
  assert.equal(rows.length, 0)
})

test('each request is reported once: the first report counts', async () => {
  const agent = await newAgent(service)
  const evidence = [await evidenceBy(service, agent)]
  const same = reportBody(agent.did, evidence)
  const racers = await Promise.all(Array.from({ length: 6 }, () => sendReport(service, same)))
  const statuses = racers.map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [201, 409, 409, 409, 409, 409])
  const again = await sendReport(service, reportBody(agent.did, evidence, { category: 'fraud' }))
  assertRefused(again, 409, 'CONFLICT', /before/)
  const withNew = [await evidenceBy(service, agent), ...evidence]
  assertRefused(await sendReport(service, reportBody(agent.did, withNew)), 409, 'CONFLICT')
  assert.equal((await reportsOf(agent.owner, agent.did)).reports.length, 1)
})

test('a withdrawn report has no text, contact and requests any more', async () => {
  const agent = await newAgent(service)
  const report = received(await reportNew(service, agent, {}, { contact: 'a@shop.example' }))
  for (const _ of [1, 2]) {
    assert.equal((await askReport(service, report, 'DELETE')).status, 204)
  }
  assert.equal(jsonOf<ReportState>(await askReport(service, report)).state, 'closed')
  const [shown] = (await reportsOf(agent.owner, agent.did)).reports
  assert.deepEqual([shown?.text, shown?.contact, shown?.requests[0]?.url], [null, null, null])
  const path = reportsPath(agent.did, `/${report.id}`)
  assertRefused(await agent.owner.get(`${path}/evidence`), 404, 'NOT_FOUND', /withdrawn/)
  assertRefused(await agent.owner.post(`${path}/answer`, { text: 'x' }), 409, 'CONFLICT', /closed/)
})

test('signed requests are deleted after 90 days, reports after 400', async () => {
  const agent = await newAgent(service)
  const { id } = received(await reportNew(service, agent))
  clock.advance(89 * DAY_HOURS)
  const at = async () => {
    const owner = await signInBy(service, agent.owner.ownerId, clock.now)
    return { owner, reports: (await reportsOf(owner, agent.did)).reports }
  }
  service.tick()
  assert.equal(typeof (await at()).reports[0]?.requests[0]?.url, 'string')
  clock.advance(2 * DAY_HOURS)
  await untilTicked(service, async () => (await at()).reports[0]?.requests[0]?.url === null)
  const { owner } = await at()
  const evidence = await owner.get(reportsPath(agent.did, `/${id}/evidence`))
  assertRefused(evidence, 404, 'NOT_FOUND', /90 days/)
  clock.advance(310 * DAY_HOURS)
  await untilTicked(service, async () => (await at()).reports.length === 0)
  const left = await service.operator.db.read.selectFrom('report_evidence').selectAll().execute()
  assert.equal(
    left.some(({ report_id }) => report_id === id),
    false,
  )
})

test('the operator lists, shows and closes reports, and sees paths without their queries', async () => {
  const agent = await newAgent(service)
  const url = 'https://shop.example/orders?name=Ada+Lovelace'
  const text = 'First line.\nagent     svc:agent:forged'
  const report = received(await reportNew(service, agent, { url }, { text }))
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await countersignd(service.env, 'report', ...words)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const listed = await run('list', '--agent', agent.did)
  for (const each of [report.id, 'shop.example', 'open', agent.did])
    assert.ok(listed.includes(each))
  const shown = await run('show', report.id)
  assert.ok(shown.includes('GET /orders\n') && !shown.includes('Lovelace'), shown)
  assert.ok(shown.includes('> agent     svc:agent:forged'), shown)
  await run('close', report.id)
  assert.equal(jsonOf<ReportState>(await askReport(service, report)).state, 'closed')
  const unknown = await countersignd(service.env, 'report', 'close', 'rp_x')
  assert.equal(unknown.code, 3)
  assert.match(unknown.stderr, /no report/)
})
