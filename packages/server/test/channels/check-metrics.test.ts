import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../../test/support/ports.ts'
import {
  addChannel,
  DOMAIN,
  newProver,
  proofField,
  startChannelFixture,
} from './support/channel-fixture.ts'
import { advanceToNextCheck, DAY, HOUR, until } from './support/scheduled-checks.ts'

test('metrics show how checks end and how late they are', async (t) => {
  const clock = { ahead: 0 }
  const port = String(await freePort())
  const fixture = await startChannelFixture(t, { clock, env: { METRICS_PORT: port } })
  const scrape = async () => (await fetch(`http://localhost:${port}/metrics`)).text()
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain')
  assert.match(await scrape(), /^countersign_channel_checks_late_seconds 0$/m)
  await advanceToNextCheck(fixture, prover, clock, HOUR)
  fixture.txt(`_svc-challenge.${DOMAIN}`, proofField(channel, 'dns')('Value'))
  await advanceToNextCheck(fixture, prover, clock, DAY)
  await advanceToNextCheck(fixture, prover, clock, DAY)

  const counted = 'countersign_channel_checks_total'
  const text = await until(
    fixture,
    scrape,
    (all) => all.includes(`${counted}{outcome="proven"} 2`),
    'two',
  )
  assert.match(text, /^countersign_channel_checks_total\{outcome="absent"\} 1$/m)
  assert.match(text, /^countersign_channel_checks_total\{outcome="failed"\} 0$/m)
  // If a node that died holds the lease, the check is late.
  const { db } = fixture.service.operator
  await db.write((tx) =>
    tx.db
      .updateTable('channel_leases')
      .set({ due_at: 0, held_until: Number.MAX_SAFE_INTEGER })
      .execute(),
  )
  assert.match(await scrape(), /^countersign_channel_checks_late_seconds 1\d{9}(\.\d+)?$/m)
})
