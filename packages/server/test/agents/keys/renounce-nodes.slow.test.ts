import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import {
  renounceBody,
  renounceWith,
  reportWith,
} from '../../../../../test/support/key-operations.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  startTestService,
} from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import { eventTypesOf, statusOf } from '../manage/keys.ts'
import { HOUR_MS, TestClock } from './with-keys.ts'

test(
  'two nodes revoke a renounced agent once, and one knows of a report at the other',
  POSTGRES_ONLY,
  async (t) => {
    const clock = new TestClock()
    const PORT = String(await freePort())
    const BASE_URL = `http://localhost:${PORT}`
    const here = await startTestService(t, { PORT, BASE_URL }, clock.now)
    const { DATA_DIR } = here.env as { DATA_DIR: string }
    const there = await startTestService(t, { DATA_DIR, BASE_URL }, clock.now)
    const [key, stolen] = [newKey(), newKey()]
    const owner = await here.operator.addVerifiedOwner()
    const did = await claimAgent(here, owner, key, 'renounced')
    const reported = await claimAgent(here, owner, stolen, 'reported')
    const old = { sequence: 1 }
    const at = { ...clock.signed, service: BASE_URL }
    assert.equal((await renounceWith(here, did, { old: key, ...old }, at)).status, 200)
    assert.equal((await renounceWith(here, reported, { old: stolen, ...old }, at)).status, 200)
    assert.equal((await reportWith(there, reported, { old: stolen, ...old }, at)).status, 200)
    clock.advance(73)
    await until(async () => {
      for (const node of [here, there]) node.tick()
      const seen = await Promise.all([here, there].map((node) => statusOf(node, did)))
      return seen.every(([status]) => status === 'revoked')
    })
    const types = await eventTypesOf(here, did)
    assert.equal(types.filter((type) => type === 'agent.revoked').length, 1)
    for (const node of [here, there]) {
      await until(async () => (await statusOf(node, reported))[1] === 'key_compromised')
    }
  },
)

test('a service that is killed before the end revokes the renounced agent after its restart, once', async (t) => {
  const first = await startServiceProcess(t)
  const settings = readSettings(first.env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const key = newKey()
  const token = await operator.issueToken(await operator.addVerifiedOwner())
  const claimed = await postJson(`${first.url}/api/v1/claim`, claimBody(token, key))
  const { svcDid: did } = (await claimed.json()) as { svcDid: string }
  const service = { url: settings.baseUrl.origin }
  const body = renounceBody(service, did, { old: key, sequence: 1 })
  const renounced = await postJson(`${first.url}/api/v1/agent/${did}/renounce`, body)
  assert.equal(renounced.status, 200, await renounced.text())
  assert.equal(await first.stop('SIGKILL'), null)
  // 73 hours pass.
  await withRaw(settings, (raw) =>
    raw.exec(`
      update agents set renounce_final_at = renounce_final_at - ${73 * HOUR_MS}
        where renounce_final_at is not null;
      update jobs set run_at = run_at - ${73 * HOUR_MS} where kind = 'revoke-renounced'`),
  )
  const second = await startServiceProcess(t, first.env)
  await until(async () => {
    const answer = await fetch(`${second.url}/api/v1/agent/${did}`)
    const { certificate } = (await answer.json()) as { certificate: { status: string } }
    return certificate.status === 'revoked'
  })
  const types = await eventTypesOf({ operator } as Parameters<typeof eventTypesOf>[0], did)
  const expected = ['agent.renounced', 'agent.suspended', 'agent.grade_changed', 'agent.revoked']
  assert.deepEqual(types, expected)
  const { read } = operator.db
  const jobs = await read.selectFrom('jobs').select('id').where('kind', '=', 'revoke-renounced')
  assert.deepEqual(await jobs.execute(), [])
})
