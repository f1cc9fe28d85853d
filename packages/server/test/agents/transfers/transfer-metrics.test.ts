import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { scraping } from '../../http/metrics/support/scrape.ts'
import { accepted, offer, TRANSFERS, TransferWorld } from './with-transfers.ts'

test('transfers are counted by the states that they have reached', async (t) => {
  const { env, scrape } = await scraping()
  const world = await TransferWorld.start(t, env)
  const counts = async () => {
    const series = await scrape()
    const states = ['offered', 'accepted', 'done', 'declined', 'cancelled', 'expired', 'failed']
    return states.map((state) => series.get(`countersign_transfers_total{state="${state}"}`))
  }
  assert.deepEqual(await counts(), [0, 0, 0, 0, 0, 0, 0])
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const moved = await world.claim(ada.ownerId)
  const kept = await world.claim(ada.ownerId, newKey(), 'kept')
  await accepted(grace, await offer(ada, [moved], 'grace'))
  assert.deepEqual(await counts(), [1, 1, 0, 0, 0, 0, 0])
  const cancelled = await ada.post(`${TRANSFERS}/${await offer(ada, [kept], 'grace')}/cancel`)
  assert.equal(cancelled.status, 200, cancelled.text)
  world.clock.advance(73)
  await world.untilMoved(moved, grace.ownerId)
  assert.deepEqual(await counts(), [2, 1, 1, 0, 1, 0, 0])
})
