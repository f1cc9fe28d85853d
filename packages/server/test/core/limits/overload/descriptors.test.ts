import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { run, startServiceProcess } from '../../../../../../test/support/service.ts'
import { until } from '../../../../../../test/support/until.ts'

const SPARE = 40
const CONNECTIONS = 200

test('connections that use up all file descriptors do not end the process', async (t) => {
  const service = await startServiceProcess(t)
  const pid = service.child.pid as number
  const most = readdirSync(`/proc/${pid}/fd`).length + SPARE
  const limited = await run('prlimit', ['--pid', String(pid), `--nofile=${most}`])
  assert.equal(limited.code, 0, limited.stderr)

  const { hostname, port } = new URL(service.url)
  const silent: Socket[] = []
  t.after(() => {
    for (const socket of silent) socket.destroy()
  })
  for (let i = 0; i < CONNECTIONS; i++)
    silent.push(connect(Number(port), hostname).on('error', () => undefined))
  await until(async () => readdirSync(`/proc/${pid}/fd`).length >= most - 1, 20_000)
  // The pressure is measured each second, which must not fail without file descriptors.
  await sleep(2500)
  assert.equal(service.child.exitCode, null, service.output())

  for (const socket of silent) socket.destroy()
  // Connections from before may still be rejected for a moment.
  await until(() => isHealthy(service.url), 20_000)
  assert.equal(await service.stop(), 0)
})

function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}
