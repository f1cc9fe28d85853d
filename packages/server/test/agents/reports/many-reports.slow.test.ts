import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { reportNew } from '../../../../../test/support/reports.ts'
import { startTestService } from '../../../../../test/support/service.ts'
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
