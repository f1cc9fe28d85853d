import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withRaw } from '../../../../test/support/raw-database.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
} from '../../../../test/support/service.ts'
import { startSessionOf } from '../../../../test/support/signed-in.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'
import { answerOf, assertShed } from '../http/limits/overload/support.ts'

/** The maximum of open streams of one owner. */
const STREAMS = 20
const TOO_MANY = 50

test('shed requests are not logged; server errors are, with their request id', async (t) => {
  const service = await startServiceProcess(t, { LOG_LEVEL: 'info' })
  const settings = readSettings(service.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const ownerId = await operator.addVerifiedOwner()
  const token = await operator.issueToken(ownerId)
  const claimed = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
  const { svcDid: did } = (await claimed.json()) as { svcDid: string }
  const headers = await startSessionOf({ operator, settings }, ownerId)
  const follow = () => fetch(`${service.url}/api/account/stream`, { headers })
  const streams = await Promise.all(Array.from({ length: STREAMS }, follow))
  t.after(() => Promise.allSettled(streams.map(({ body }) => body?.cancel())))
  assert.ok(streams.every(({ status }) => status === 200))

  for (let i = 0; i < TOO_MANY; i++) assertShed(await answerOf(await follow()))
  await withRaw(settings, (raw) => raw.exec('DROP TABLE avatars'))
  const failed = await fetch(`${service.url}/api/agents/${did}/avatar.webp`)

  assert.ok(failed.status >= 500)
  const { error } = (await failed.json()) as { error: { requestId: string } }
  await until(async () => service.output().includes(`"requestId":"${error.requestId}"`), 20_000)
  const lines = service.output().trim().split('\n')
  const errors = lines.filter((line) => /"level":(50|60)/.test(line))
  assert.equal(errors.length, 1, 'one failure, and nothing of the fifty before it')
})
