import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from '../../src/http/part.ts'
import { jobHandlersOf, OpenedParts } from '../../src/service/parts.ts'

test('if a part throws while it opens, those before it are closed in reverse, once', async () => {
  const closed: string[] = []
  const part = async (name: string): Promise<Part> => {
    if (name === 'broken') throw new Error('it cannot open')
    return { close: async () => void closed.push(name) }
  }
  const opened = new OpenedParts()
  const opening = async () => {
    for (const name of ['log', 'channels', 'broken', 'webhooks']) await opened.open(part(name))
  }
  await assert.rejects(opening(), /it cannot open/)
  await opened[Symbol.asyncDispose]()
  assert.deepEqual(closed, ['channels', 'log'])
  await opened[Symbol.asyncDispose]()
  assert.deepEqual(closed, ['channels', 'log'])
})

test('a part that fails to close keeps no other from closing', async () => {
  const closed: string[] = []
  const opened = new OpenedParts()
  await opened.open(Promise.resolve({ close: async () => void closed.push('log') }))
  await opened.open(
    Promise.resolve({
      close: async () => {
        throw new Error('it cannot close')
      },
    }),
  )
  await assert.rejects(opened[Symbol.asyncDispose](), /it cannot close/)
  assert.deepEqual(closed, ['log'])
})

test('a kind of job that two parts handle is an error', () => {
  const handle = async () => undefined
  const parts: Part[] = [{ jobs: { 'regrade-owner': handle } }, {}]
  assert.deepEqual(Object.keys(jobHandlersOf(parts)), ['regrade-owner'])
  assert.throws(
    () => jobHandlersOf([...parts, { jobs: { 'regrade-owner': handle } }]),
    /Two parts handle jobs of the kind regrade-owner\./,
  )
})
