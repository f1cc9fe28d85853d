import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilAborted, withTimeout } from '../../src/base/timeout.ts'

const never = () => new Promise<never>(() => undefined)

test('withTimeout rejects at the timeout, and not before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const errors: Error[] = []
  const result = withTimeout(never(), 100, 'too slow').catch((error) => void errors.push(error))
  t.mock.timers.tick(99)
  await Promise.resolve()
  assert.deepEqual(errors, [])
  t.mock.timers.tick(1)
  await result
  assert.deepEqual(
    errors.map(({ name, message }) => [name, message]),
    [['TimeoutError', 'too slow']],
  )
})

test('withTimeout passes results and errors on, and leaves no timer behind', async (t) => {
  // Other tests of the process have timers too.
  const milliseconds = 61_234
  const set = t.mock.method(globalThis, 'setTimeout')
  const cleared = t.mock.method(globalThis, 'clearTimeout')
  assert.equal(await withTimeout(Promise.resolve(1), milliseconds), 1)
  await assert.rejects(withTimeout(Promise.reject(new Error('broken')), milliseconds), /broken/)
  const timers = set.mock.calls.filter((call) => call.arguments[1] === milliseconds)
  assert.equal(timers.length, 2)
  for (const { result } of timers) {
    assert.ok(cleared.mock.calls.some((call) => call.arguments[0] === result))
  }
})

test('untilAborted rejects with the reason of the signal, also if it was aborted before', async () => {
  const controller = new AbortController()
  const waiting = untilAborted(never(), controller.signal)
  const reason = new Error('stopped')
  controller.abort(reason)
  await assert.rejects(waiting, reason)
  await assert.rejects(untilAborted(never(), controller.signal), reason)
})

test('untilAborted passes results and errors on, and ignores an abort that comes later', async () => {
  const controller = new AbortController()
  assert.equal(await untilAborted(Promise.resolve(1), controller.signal), 1)
  await assert.rejects(
    untilAborted(Promise.reject(new Error('broken')), controller.signal),
    /broken/,
  )
  controller.abort()
})
