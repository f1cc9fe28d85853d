import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DID,
  lookupBody,
  refusal,
  startImpostor,
  startSite,
} from '../../../../test/support/impostor.ts'
import { Registry } from '../../src/registry.ts'
import { failsWith } from '../support/fails.ts'

test('a hundred callers who ask the same at once cause one request', async (t) => {
  const { url, asked } = await startImpostor(t, { body: lookupBody() })
  const registry = new Registry(url)
  const answers = await Promise.all(Array.from({ length: 100 }, () => registry.lookup(DID)))
  assert.equal(asked.length, 1)
  assert.equal(new Set(answers).size, 1)
  await registry.lookup(DID)
  assert.equal(asked.length, 2, 'a question after the answer is another')
})

test('they all get its error as well, and the next to ask asks anew', async (t) => {
  const { url, asked } = await startImpostor(
    t,
    { status: 404, body: refusal('NOT_FOUND') },
    { body: lookupBody() },
  )
  const registry = new Registry(url)
  await Promise.all(Array.from({ length: 10 }, () => failsWith('NOT_FOUND', registry.lookup(DID))))
  assert.equal(asked.length, 1)
  assert.equal((await registry.lookup(DID)).verified, true)
})

test('one caller who gives up disturbs nobody; when all have, the request ends', async (t) => {
  let answer: () => void = () => undefined
  let asked = 0
  let ended = 0
  const arrived = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const url = await startSite(t, (_, response) => {
    asked += 1
    response.on('close', () => {
      if (response.writableFinished) return
      ended += 1
      gone.resolve()
    })
    answer = () => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(lookupBody()))
    }
    arrived.resolve()
  })
  const registry = new Registry(url)
  const [one, two] = [new AbortController(), new AbortController()]
  const first = registry.lookup(DID, { signal: one.signal })
  const second = registry.lookup(DID, { signal: two.signal })
  const third = registry.lookup(DID)
  await arrived.promise
  one.abort(new Error('I changed my mind'))
  const error = await failsWith('ABORTED', first)
  assert.equal((error.cause as Error).message, 'I changed my mind')
  answer()
  assert.equal((await second).verified, true)
  assert.equal(await third, await second)
  assert.deepEqual([asked, ended], [1, 0])

  const both = [
    registry.lookup(DID, { signal: two.signal }),
    registry.lookup(DID, { signal: two.signal }),
  ].map((each) => failsWith('ABORTED', each))
  while (asked < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  two.abort()
  await Promise.all(both)
  await gone.promise
  assert.deepEqual([asked, ended], [2, 1])
})

test('different questions, and answers of different kinds, are not shared', async (t) => {
  const { url, asked } = await startImpostor(t, { body: lookupBody() })
  const registry = new Registry(url)
  await Promise.allSettled([registry.lookup(DID), registry.agent(DID), registry.resolve(DID)])
  assert.deepEqual(asked.map(({ url, headers }) => [url, headers.accept]).sort(), [
    [`/api/agents/${encodeURIComponent(DID)}`, 'application/did+json'],
    [`/api/agents/${encodeURIComponent(DID)}`, 'application/json'],
    [`/api/v1/agent/${encodeURIComponent(DID)}`, 'application/json'],
  ])
})
