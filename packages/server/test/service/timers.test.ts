import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { REAL_TIMING, type StartInterval, startTimers } from '../../src/service/timers.ts'

type Deps = Parameters<typeof startTimers>[0]

test('external writes are polled several times a second, and due work is started every second', async () => {
  const runs: { readonly milliseconds: number; readonly run: () => void }[] = []
  const every: StartInterval = (milliseconds, run) => {
    const entry = { milliseconds, run }
    runs.push(entry)
    return () => void runs.splice(runs.indexOf(entry), 1)
  }
  const happened: string[] = []
  let isChanged = false
  const db = {
    onExternalWrite: () => undefined,
    mayHaveExternalWrites: () => isChanged,
    read: null,
  }
  const readModel = { isBehind: false, catchUp: async () => void happened.push('catch up') }
  const checks = { run: async () => void happened.push('checks') }
  const warnings = { run: () => void happened.push('warnings'), stop: async () => undefined }
  const emails = { run: async () => void happened.push('emails') }
  const deliveries = { run: async () => void happened.push('webhooks') }
  const transparencyLog = { run: async () => void happened.push('log') }
  const deps = {
    db,
    readModel,
    checks,
    warnings,
    emails,
    deliveries,
    transparencyLog,
    logWitnesses: null,
    issuerKeys: { refresh: async () => void happened.push('issuer keys') },
    status: { feed: { tick: () => void happened.push('head') } },
    now: Date.now,
    every,
  } as unknown as Deps
  const resources = new AsyncDisposableStack()
  startTimers(deps, pino({ level: 'silent' }), resources)

  const [poll, log, work, heads] = runs.toSorted((a, b) => a.milliseconds - b.milliseconds)
  assert.ok(poll !== undefined && poll.milliseconds <= 250, 'far below the second that is promised')
  assert.ok(work !== undefined && work.milliseconds <= 1000)
  assert.ok(log !== undefined && log.milliseconds <= 500, 'a checkpoint within a second')
  poll.run()
  assert.deepEqual(happened, [], 'nothing has changed')
  isChanged = true
  poll.run()
  assert.deepEqual(happened, ['catch up'])
  work.run()
  const started = ['warnings', 'issuer keys', 'checks', 'emails', 'webhooks']
  assert.deepEqual(happened, ['catch up', ...started])
  heads?.run()
  assert.equal(happened.at(-1), 'head')
  log?.run()
  assert.equal(happened.at(-1), 'log')
  await resources.disposeAsync()
  assert.deepEqual(runs, [])
})

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
