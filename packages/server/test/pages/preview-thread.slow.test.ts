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
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'

const SERVER = 'packages/server'

/** Directories by which the threads and the test tell one another how far they are. */
interface Signs {
  /** The first thread has begun. */
  readonly first: string
  readonly second: string
  /** The first thread may end. */
  readonly letGo: string
  readonly ended: string
}

/**
 * A program in which the first render thread fails and exits only when the test allows it; the second starts rendering
 * only then. The names of its imports occur nowhere in the built pages, to which it is added.
 */
function failingThreads({ first, second, letGo, ended }: Signs): string {
  return `
import * as failingFs from 'node:fs'
import * as failingThread from 'node:worker_threads'
const failingPause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
if (!failingThread.isMainThread) {
  if (failingFs.existsSync(${JSON.stringify(first)})) {
    failingFs.mkdirSync(${JSON.stringify(second)})
    while (!failingFs.existsSync(${JSON.stringify(ended)})) failingPause()
    for (let i = 0; i < 20; i++) failingPause()
  } else {
    failingFs.mkdirSync(${JSON.stringify(first)})
    const end = process.reallyExit
    process.reallyExit = (code) => {
      while (!failingFs.existsSync(${JSON.stringify(letGo)})) failingPause()
      failingFs.mkdirSync(${JSON.stringify(ended)})
      end.call(process, code)
    }
    throw new Error('the first thread fails')
  }
}
`
}

/** A copy of the service with such threads. @returns its countersignd, and the files that show how far the threads are */
function withFailingThreads(t: Cleanup): { program: string; signs: Signs } {
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
  const signs = {
    first: join(root, 'first'),
    second: join(root, 'second'),
    letGo: join(root, 'let-go'),
    ended: join(root, 'ended'),
  }
  const pages = join(server, 'dist/pages/pages.js')
  writeFileSync(pages, failingThreads(signs) + readFileSync(pages, 'utf8'))
  return { program: join(server, 'bin/countersignd.mjs'), signs }
}

test('a failed render thread fails its own jobs and none of the next thread', async (t) => {
  const { program, signs } = withFailingThreads(t)
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
  const drawing = fetch(preview)
  await until(async () => existsSync(signs.second))
  assert.equal(existsSync(signs.ended), false)
  mkdirSync(signs.letGo)
  const drawn = await drawing

  assert.equal(drawn.status, 200, 'the end of the first is nothing to the second')
  assert.ok(existsSync(signs.ended))
  assert.equal(drawn.headers.get('content-type'), 'image/png')
  await drawn.arrayBuffer()
})
