import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { test } from 'node:test'
import { BASE_ENV } from '../../../../test/support/run.ts'
import { COUNTERSIGND, testEnv } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

/** Every write to it fails with ENOSPC, as on a full disk. */
const FULL = '/dev/full'

for (const WORKERS of ['1', '2']) {
  test(`with ${WORKERS} workers, the service serves and stops although its log is on a full disk`, async (t) => {
    const env = await testEnv(t, { LOG_LEVEL: 'debug', WORKERS })
    const full = openSync(FULL, 'w')
    const child = spawn(process.execPath, [COUNTERSIGND, 'serve'], {
      env: { ...BASE_ENV, ...env },
      stdio: ['ignore', full, full],
    })
    t.after(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    const statusOf = async (path: string) =>
      (await fetch(`http://localhost:${env.PORT}${path}`, { signal: AbortSignal.timeout(30_000) }))
        .status
    await until(async () => (await statusOf('/readyz').catch(() => 0)) === 200, 60_000)
    for (let i = 0; i < 20; i++) {
      assert.equal(await statusOf('/healthz'), 200)
      assert.equal(await statusOf('/nowhere'), 404)
    }
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  })
}
