import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { reportNew } from '../../../../../test/support/reports.ts'
import {
  openOperator,
  startServiceProcess,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import { newAgent, received, reportsOf, reportsPath } from './with-reports.ts'

test('by default, 20 reports a day are about one host and 100 about one agent', async (t) => {
  const service = await startTestService(t, { RATE_LIMITS: 'reports=off' })
  const [agent, other] = [await newAgent(service), await newAgent(service)]
  const about = (signer: typeof agent, host: string) =>
    reportNew(service, signer, { url: `https://${host}.example/` })
  for (let i = 0; i < 20; i++) received(await about(i % 2 === 0 ? agent : other, 'shop'))
  assertRefused(await about(agent, 'shop'), 429, 'RATE_LIMITED', /shop\.example/)
  for (let i = 0; i < 90; i++) received(await about(agent, `host-${i}`))
  assertRefused(await about(agent, 'host-90'), 429, 'RATE_LIMITED', /this agent/)
  const hosts = await service.operator.db.read.selectFrom('reports').select('host').execute()
  assert.equal(hosts.length, 110)
})

test('reports come in pages, newest first', async (t) => {
  const service = await startTestService(t)
  const agent = await newAgent(service)
  const ids: string[] = []
  for (let i = 0; i < 53; i++) ids.unshift(received(await reportNew(service, agent)).id)
  const first = await reportsOf(agent.owner, agent.did)
  const second = await reportsOf(agent.owner, agent.did, `?before=${first.next}`)
  assert.equal(first.reports.length, 50)
  assert.equal(second.next, null)
  const found = [...first.reports, ...second.reports].map(({ id }) => id)
  assert.deepEqual(found.toSorted(), ids.toSorted())
  const stranger = await newAgent(service)
  const foreign = await stranger.owner.get(reportsPath(stranger.did, `?before=${ids[0]}`))
  assertRefused(foreign, 404, 'NOT_FOUND')
})

test('the log names the agent of an alarm, and the host of a report over its limit', async (t) => {
  const RATE_LIMITS = 'reports=off,reports-host=1/d'
  const running = await startServiceProcess(t, { RATE_LIMITS, LOG_LEVEL: 'warn' })
  const settings = readSettings(running.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const as = { ...running, settings, operator } as unknown as TestService
  const agent = await newAgent(as)
  const about = (host: string) => reportNew(as, agent, { url: `https://${host}.example/` })
  for (const host of ['a', 'b', 'c', 'd']) received(await about(host))
  assertRefused(await about('a'), 429, 'RATE_LIMITED')
  const lines = () =>
    running
      .output()
      .split('\n')
      .filter((line) => line.includes(agent.did))
  await until(async () => lines().length === 2)
  const [alarm = '', refused = ''] = lines()
  assert.match(alarm, /requests of an agent to 3 hosts were reported within 24 hours/)
  assert.match(refused, /"host":"a\.example".*over its limit/)
})
