import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareClaims, sendClaims } from '../../../../../test/support/many-claims.ts'
import {
  type ClaimBody,
  openOperator,
  startServiceProcess,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { readSettings } from '../../../src/base/config.ts'

const CLAIMS = 2000
const KILL_AFTER = 700

test('kill -9 during 2,000 claims loses no acknowledged claim, and no token is redeemed twice', async (t) => {
  const dataDir = tempDir(t)
  const operator = await openOperator(readSettings(await testEnv(t, { DATA_DIR: dataDir })))
  t.after(() => operator.close())
  const claims = await prepareClaims(operator, CLAIMS)

  const first = await startServiceProcess(t, { DATA_DIR: dataDir })
  const acknowledged = new Map<ClaimBody, string>()
  await sendClaims(first.url, claims, 32, (claim, { status, body }) => {
    assert.equal(status, 200)
    acknowledged.set(claim, body.svcDid as string)
    if (acknowledged.size === KILL_AFTER) void first.stop('SIGKILL')
  })
  assert.ok(acknowledged.size >= KILL_AFTER && acknowledged.size < CLAIMS, `${acknowledged.size}`)

  const second = await startServiceProcess(t, { DATA_DIR: dataDir })
  for (const did of acknowledged.values()) {
    const response = await fetch(`${second.url}/api/v1/agent/${did}`)
    assert.equal(response.status, 200, `${did} was acknowledged, but is lost`)
  }

  const outcomes = { minted: 0, 'already minted': 0 }
  await sendClaims(second.url, claims, 32, (claim, { status }) => {
    if (acknowledged.has(claim)) assert.equal(status, 410, 'a used token was redeemed again')
    assert.ok(status === 200 || status === 410)
    outcomes[status === 200 ? 'minted' : 'already minted'] += 1
  })
  assert.equal(outcomes.minted + outcomes['already minted'], CLAIMS)
  const owners = await operator.db.read
    .selectFrom('agents')
    .select(['owner_id', (eb) => eb.fn.countAll<number>().as('agents')])
    .groupBy('owner_id')
    .execute()
  assert.equal(owners.length, CLAIMS)
  assert.ok(owners.every(({ agents }) => agents === 1))
})
