import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../../test/support/ports.ts'
import { startServiceProcess } from '../../../../test/support/service.ts'

const MIB = 2 ** 20

test('a service that has started keeps little space for new objects', async (t) => {
  const METRICS_PORT = String(await freePort())
  await startServiceProcess(t, { METRICS_PORT })
  const metrics = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
  const bytes = /^nodejs_heap_space_size_total_bytes\{space="new"\} (\d+)$/m.exec(metrics)?.[1]
  // V8 would reserve 32 to 64 MiB while the modules are loaded.
  assert.ok(Number(bytes) <= 16 * MIB, `${bytes} bytes`)
})
