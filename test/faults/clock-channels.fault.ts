import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  addChannel,
  check,
  newProver,
  proofField,
  publicView,
  startChannelFixture,
} from '../../packages/server/test/channels/support/channel-fixture.ts'
import { withRaw } from '../support/raw-database.ts'
import { startServiceProcess } from '../support/service.ts'
import { needs } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { newClock } from './support/moved-clock.ts'
import { report } from './support/report.ts'
import { formatDuration } from './support/times.ts'

const PLACES = ['one.example.net', 'two.example.net', 'three.example.net']
/** The service looks for due checks every second. */
const SEVERAL_POLLS_MS = 3000
const MINUTE = 60_000

test(
  'if the clock moves by ten minutes, channels are checked early or late, each once, under a lease',
  needs('faketime'),
  async (t) => {
    const clock = await newClock(t)
    const fixture = await startChannelFixture(t)
    const prover = await newProver(fixture)
    const nameOf = (place: string) => `_svc-challenge.${place}`
    for (const place of PLACES) {
      const channel = await addChannel(prover, 'domain', place)
      fixture.txt(nameOf(place), proofField(channel, 'dns')('Value'))
      assert.equal((await check(prover, channel)).state, 'verified')
    }
    const { env, settings } = fixture.service
    await fixture.service.stop()
    const asked = () => PLACES.map((place) => fixture.dns[0]?.asked(nameOf(place), 'TXT') ?? 0)
    const askedSince = (before: number[]) =>
      asked().map((count, i) => count - (before[i] as number))
    const lease = (values: string) =>
      withRaw(settings, (raw) => raw.exec(`UPDATE channel_leases SET ${values}`))
    const held = () =>
      withRaw(settings, (raw) =>
        raw.all('SELECT channel_id FROM channel_leases WHERE leased_by IS NOT NULL'),
      )

    const before = asked()
    await lease(`due_at = ${Date.now() + 5 * MINUTE}`)
    const node = await startServiceProcess(t, { ...env, ...clock.env })
    await sleep(SEVERAL_POLLS_MS)
    assert.deepEqual(askedSince(before), [0, 0, 0], 'nothing is due')

    clock.move(10)
    const movedAt = performance.now()
    await until(async () => askedSince(before).every((count) => count === 1), 10_000)
    const early = performance.now() - movedAt
    await until(async () => (await held()).length === 0, 5000)

    clock.move(-10)
    await sleep(SEVERAL_POLLS_MS)
    assert.deepEqual(askedSince(before), [1, 1, 1], 'what was checked early is checked once')

    // These leases belong to a worker that died, and were written with the correct clock.
    clock.move(0)
    const now = Date.now()
    await lease(`due_at = ${now - MINUTE}, leased_by = 'gone', held_until = ${now + 2 * MINUTE}`)
    await sleep(SEVERAL_POLLS_MS)
    assert.deepEqual(askedSince(before), [1, 1, 1], 'a lease is a lease')
    clock.move(10)
    await until(async () => askedSince(before).every((count) => count === 2), 10_000)
    await until(async () => (await held()).length === 0, 5000)
    await node.stop('SIGTERM')

    const { grade, channels } = await publicView(
      await startChannelFixture(t, { env: { DATA_DIR: settings.dataDir } }),
      prover,
    )
    report(t, {
      'checked early when the clock went ahead': `each of ${PLACES.length} once, after ${formatDuration(early)}`,
      'checked again when it went back': 0,
      'leases of the dead, over when the clock says so': PLACES.length,
      'found afterwards': `${channels.length} channels verified, grade ${grade}`,
    })
    assert.equal(channels.length, PLACES.length)
  },
)
