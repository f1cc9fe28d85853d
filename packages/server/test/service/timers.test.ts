import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { testEnv } from '../../../../test/support/service.ts'
import { readSettings } from '../../src/base/config.ts'
import type { PartTimer } from '../../src/http/part.ts'
import { startService } from '../../src/service/service.ts'
import { REAL_TIMING, type StartInterval, startTimers } from '../../src/service/timers.ts'

interface Interval {
  readonly milliseconds: number
  readonly run: () => void
}

/** Intervals that only the test runs. */
function recordIntervals(): { readonly every: StartInterval; readonly intervals: Interval[] } {
  const intervals: Interval[] = []
  const every: StartInterval = (milliseconds, run) => {
    const entry = { milliseconds, run }
    intervals.push(entry)
    return () => void intervals.splice(intervals.indexOf(entry), 1)
  }
  return { every, intervals }
}

const UNCHANGED = {
  db: { onExternalWrite: () => undefined, mayHaveExternalWrites: () => false },
  readModel: { isBehind: false, catchUp: async () => undefined },
}

test('external writes are polled several times a second, and each timer starts its own work', async () => {
  const { every, intervals } = recordIntervals()
  const happened: string[] = []
  let isChanged = false
  const db = { onExternalWrite: () => undefined, mayHaveExternalWrites: () => isChanged }
  const readModel = { isBehind: false, catchUp: async () => void happened.push('catch up') }
  const timers: PartTimer[] = [
    { everyMs: 1000, run: async () => void happened.push('checks'), failure: '' },
    { everyMs: 500, run: async () => void happened.push('log'), failure: '' },
  ]
  const resources = new AsyncDisposableStack()
  startTimers({ db, readModel, every, log: pino({ level: 'silent' }) }, timers, resources)

  const [poll, checks, log] = intervals
  assert.ok(poll !== undefined && poll.milliseconds <= 250, 'far below the second that is promised')
  assert.deepEqual([checks?.milliseconds, log?.milliseconds], [1000, 500])
  poll.run()
  assert.deepEqual(happened, [], 'nothing has changed')
  isChanged = true
  poll.run()
  checks?.run()
  log?.run()
  assert.deepEqual(happened, ['catch up', 'checks', 'log'])
  await resources.disposeAsync()
  assert.deepEqual(intervals, [])
})

test('a service starts due work every second, and looks for changes to log twice a second', async (t) => {
  const settings = readSettings(await testEnv(t))
  const { every, intervals } = recordIntervals()
  const log = pino({ level: 'silent' })
  const timing = { every, elapsed: REAL_TIMING.elapsed }
  const service = await startService(settings, log, {}, Date.now, null, timing)
  const due = intervals.map(({ milliseconds }) => milliseconds)
  await service.stop()
  assert.deepEqual(
    [...new Set(due)].toSorted((a, b) => a - b),
    // External writes, a step of the daily check, the log, due work, changes of the feed that are kept no longer.
    [100, 200, 500, 1000, 3_600_000],
  )
  assert.deepEqual(intervals, [], 'a stopped service runs nothing')
})

test('a timer that hangs keeps no other from running, and a stop waits for it only so long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { every, intervals } = recordIntervals()
  const errors: string[] = []
  const log = pino({}, { write: (line: string) => void errors.push(JSON.parse(line).msg) })
  let runs = 0
  let isAborted = false
  const timers: PartTimer[] = [
    {
      everyMs: 1000,
      run: (stopping) => {
        stopping.addEventListener('abort', () => (isAborted = true))
        return new Promise(() => undefined)
      },
      failure: 'the checks hang',
    },
    { everyMs: 1000, run: async () => void runs++, failure: 'the others failed' },
  ]
  const resources = new AsyncDisposableStack()
  startTimers({ ...UNCHANGED, every, log }, timers, resources)
  for (let i = 0; i < 3; i++) {
    for (const { run } of intervals) run()
    await eventLoopTurn()
  }
  assert.equal(runs, 3)
  const stopped = resources.disposeAsync()
  assert.equal(isAborted, true)
  await eventLoopTurn()
  t.mock.timers.tick(10_000)
  await stopped
  assert.deepEqual(errors, ['the checks hang'])
})

function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test('the real timer runs until it is ended', async () => {
  let count = 0
  await new Promise<void>((resolve) => {
    const end = REAL_TIMING.every(1, () => {
      count += 1
      if (count < 3) return
      end()
      resolve()
    })
  })
  assert.equal(count, 3)
})
