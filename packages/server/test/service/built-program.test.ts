import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  claimBody,
  openOperator,
  postJson,
  ROOT,
  startServiceProcess,
} from '../../../../test/support/service.ts'
import { readSettings } from '../../src/base/config.ts'

const PROGRAM = join(ROOT, 'packages/server/bin/countersignd.mjs')

test('the built service answers what needs packages that are loaded on demand, threads or files', async (t) => {
  const service = await startServiceProcess(t, {}, PROGRAM)
  const operator = await openOperator(readSettings(service.env))
  t.after(() => operator.close())
  const token = await operator.issueToken(await operator.addVerifiedOwner())
  const claimed = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
  const { svcDid: did } = (await claimed.json()) as { svcDid: string }
  for (const [path, type] of [
    ['/', 'text/html'],
    ['/docs', 'text/html'],
    ['/dashboard', 'text/html'],
    ['/packages/index.json', 'application/json'],
    [`/agent/${did}`, 'text/html'],
    [`/agent/${did}/preview.png`, 'image/png'],
    [`/agent/${did}/qr.svg`, 'image/svg+xml'],
    [`/api/agents/${did}/card`, 'application/json'],
    [`/api/agents/${did}/avatar.svg`, 'image/svg+xml'],
  ] as const) {
    const answer = await fetch(service.url + path)
    assert.equal(answer.status, 200, path)
    assert.equal(answer.headers.get('content-type')?.split(';')[0], type, path)
    await answer.arrayBuffer()
  }
  const options = await postJson(`${service.url}/api/sign-in/passkey/options`, {})
  assert.equal(options.status, 200)
})
