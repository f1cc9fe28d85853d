import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../../test/support/ports.ts'
import { run, testEnv } from '../../../../test/support/service.ts'

const PROGRAM = join(import.meta.dirname, 'support/start-and-stop.ts')

test('a stopped service can be garbage-collected', async (t) => {
  const env = await testEnv(t, { METRICS_PORT: String(await freePort()), STARTS: '4' })
  const { code, stdout, stderr } = await run(process.execPath, ['--expose-gc', PROGRAM], env)
  assert.equal(code, 0, stderr)
  assert.equal(stdout.trim(), '0', 'objects that are still referenced')
})
