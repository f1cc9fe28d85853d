import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { evidenceBy, reportBody, sendReport } from '../../../../test/support/reports.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { newAgent, reportsOf } from '../agents/reports/with-reports.ts'

const BASE_URL = 'https://certificates.example'

test('of reports of one request at two nodes, one is received', POSTGRES_ONLY, async (t) => {
  const env = { BASE_URL, RATE_LIMITS: 'reports=off,reports-host=3/d,reports-agent=off' }
  const first = await startTestService(t, env)
  const second = await startTestService(t, { ...first.env, PORT: String(await freePort()) })
  const nodes = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? first : second))
  const agent = await newAgent(first)
  const signed = () => evidenceBy({ url: BASE_URL }, agent)
  const one = reportBody(agent.did, [await signed()])
  const count = (answers: readonly { readonly status: number }[], status: number) =>
    answers.filter((each) => each.status === status).length
  const same = await Promise.all(nodes.map((node) => sendReport(node, one)))
  assert.deepEqual([count(same, 201), count(same, 409)], [1, 11])
  const bodies = await Promise.all(nodes.map(async () => reportBody(agent.did, [await signed()])))
  const each = await Promise.all(nodes.map((node, i) => sendReport(node, bodies[i] as object)))
  assert.deepEqual([count(each, 201), count(each, 429)], [2, 10])
  assert.equal((await reportsOf(agent.owner, agent.did)).reports.length, 3)
})
