import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type Cleanup,
  claimBody,
  openOperator,
  postJson,
  ROOT,
  startServiceProcess,
  tempDir,
} from '../../../../test/support/service.ts'
import { readSettings } from '../../src/config/config.ts'

const SERVER = 'packages/server'

/**
 * A program in which the first render thread fails and exits some time later; the second starts rendering only then.
 */
function failingThreads(first: string, ended: string): string {
  return `
import { existsSync, mkdirSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
if (!isMainThread) {
  if (existsSync(${JSON.stringify(first)})) {
    while (!existsSync(${JSON.stringify(ended)})) pause()
    for (let i = 0; i < 20; i++) pause()
  } else {
    mkdirSync(${JSON.stringify(first)})
    const end = process.reallyExit
    process.reallyExit = (code) => {
      for (let i = 0; i < 20; i++) pause()
      mkdirSync(${JSON.stringify(ended)})
      end.call(process, code)
    }
    throw new Error('the first thread fails')
  }
}
`
}

/** A copy of the service with such threads. @returns its countersignd, and a file that exists once the first thread has exited */
function withFailingThreads(t: Cleanup): { program: string; ended: string } {
  const root = tempDir(t)
  const server = join(root, SERVER)
  for (const part of ['bin', 'src', 'package.json', 'dist/pages']) {
    cpSync(join(ROOT, SERVER, part), join(server, part), { recursive: true })
  }
  mkdirSync(join(root, 'packages/dashboard'))
  for (const part of [
    ...['node_modules', `${SERVER}/node_modules`],
    ...[`${SERVER}/dist/docs`, 'packages/dashboard/dist'],
  ]) {
    symlinkSync(join(ROOT, part), join(root, part))
  }
  const ended = join(root, 'ended')
  const pages = join(server, 'dist/pages/pages.js')
  writeFileSync(pages, failingThreads(join(root, 'first'), ended) + readFileSync(pages, 'utf8'))
  return { program: join(server, 'bin/countersignd.mjs'), ended }
}

test('a failed render thread fails its own jobs and none of the next thread', async (t) => {
  const { program, ended } = withFailingThreads(t)
  const service = await startServiceProcess(t, {}, program)
  const operator = await openOperator(readSettings(service.env))
  t.after(() => operator.close())
  const owner = await operator.addVerifiedOwner()
  const token = await operator.issueToken(owner)
  const claimed = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
  const { svcDid: did } = (await claimed.json()) as { svcDid: string }
  const preview = `${service.url}/agent/${did}/preview.png`

  const failed = await fetch(preview)
  assert.equal(failed.status, 500)
  assert.equal(existsSync(ended), false, 'it has ended already: nothing is tested')
  const drawn = await fetch(preview)

  assert.equal(drawn.status, 200, 'the end of the first is nothing to the second')
  assert.ok(existsSync(ended))
  assert.equal(drawn.headers.get('content-type'), 'image/png')
  await drawn.arrayBuffer()
})
