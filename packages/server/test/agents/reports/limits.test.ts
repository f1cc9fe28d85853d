import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import {
  evidenceBy,
  reportBody,
  reportNew,
  sendReport,
} from '../../../../../test/support/reports.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { TestClock } from '../../../../../test/support/sign-in-by.ts'
import { newAgent, type OwnedAgent, received, reportsOf } from './with-reports.ts'

const DAY_HOURS = 24
const LIMITS = 'reports=off,reports-host=4/d,reports-agent=10/d'

async function metricsOf(port: string): Promise<(line: string) => boolean> {
  const text = await (await fetch(`http://localhost:${port}/metrics`)).text()
  return (line) => text.includes(`${line}\n`)
}

const about = (service: TestService, agent: OwnedAgent, host: string) =>
  reportNew(service, agent, {
    url: `https://${host}.example/`,
  })

test('reports about a host and an agent are limited, and three hosts of an agent raise one alarm', async (t) => {
  const clock = new TestClock()
  const METRICS_PORT = String(await freePort())
  const service = await startTestService(t, { RATE_LIMITS: LIMITS, METRICS_PORT }, clock.now)
  const [agent, other] = [await newAgent(service), await newAgent(service)]
  for (let i = 0; i < 4; i++) received(await about(service, i % 2 === 0 ? agent : other, 'shop'))
  assertRefused(await about(service, agent, 'shop'), 429, 'RATE_LIMITED', /shop\.example/)
  assertRefused(await about(service, other, 'shop'), 429, 'RATE_LIMITED')
  const used = await evidenceBy(service, agent, { url: 'https://shop.example/' })
  assertRefused(await sendReport(service, reportBody(agent.did, [used])), 429, 'RATE_LIMITED')
  const alarms = async () => {
    const has = await metricsOf(METRICS_PORT)
    return [0, 1, 2].find((count) => has(`countersign_report_alarms_total ${count}`))
  }
  received(await about(service, agent, 'host-0'))
  assert.equal(await alarms(), 0)
  for (let i = 1; i < 8; i++) received(await about(service, agent, `host-${i}`))
  assertRefused(await about(service, agent, 'host-8'), 429, 'RATE_LIMITED', /this agent/)
  assert.equal(await alarms(), 1)
  const has = await metricsOf(METRICS_PORT)
  assert.ok(has('countersign_reports_total{category="rate",result="received"} 12'))
  assert.ok(has('countersign_reports_total{category="rate",result="rate_limited"} 4'))
  clock.advance(DAY_HOURS + 0.1)
  // A refused report has used up nothing: its request can be reported later.
  received(await sendReport(service, reportBody(agent.did, [used])))
  assert.equal(await alarms(), 1)
})

test('one notification a day for each host', async (t) => {
  const service = await startTestService(t)
  const agent = await newAgent(service)
  for (const host of ['shop', 'shop', 'shop', 'rival']) received(await about(service, agent, host))
  assert.equal((await reportsOf(agent.owner, agent.did)).reports.length, 4)
  const { text } = await agent.owner.get('/api/account/notifications')
  const titles = text.match(/requests to \w+\.example were reported/g) ?? []
  assert.deepEqual(titles.toSorted(), [
    'requests to rival.example were reported',
    'requests to shop.example were reported',
  ])
})

test('an address sends 10 reports a minute unless the operator says otherwise', async (t) => {
  // No time passes, in which the limit would be whole again.
  const at = Date.now()
  const service = await startTestService(t, { RATE_LIMITS: '' }, () => at)
  const agent = await newAgent(service)
  for (let i = 0; i < 10; i++) received(await about(service, agent, `host-${i}`))
  const refused = await about(service, agent, 'one-more')
  assertRefused(refused, 429, 'RATE_LIMITED')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
})
