import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
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

  // A connection that is there already.
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => kept.destroy())
  await timeAt(service.url, kept)

  const { hostname, port } = new URL(service.url)
  const silent: Socket[] = []
  t.after(() => {
    for (const socket of silent) socket.destroy()
  })
  for (let i = 0; i < CONNECTIONS; i++)
    silent.push(connect(Number(port), hostname).on('error', () => undefined))
  await until(async () => readdirSync(`/proc/${pid}/fd`).length >= most - 1, 20_000)
  // What is measured each second has been measured meanwhile, by the service's own clock.
  const began = await timeAt(service.url, kept)
  await until(async () => (await timeAt(service.url, kept)) >= began + 3000)
  assert.equal(service.child.exitCode, null, service.output())

  for (const socket of silent) socket.destroy()
  // Connections from before may still be rejected for a moment.
  await until(() => isHealthy(service.url), 20_000)
  assert.equal(await service.stop(), 0)
})

/** When the service says it is, in milliseconds since 1970, to the second. */
function timeAt(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get(`${url}/healthz`, { agent }, (response) => {
      response.resume().once('end', () => resolve(Date.parse(response.headers.date as string)))
    }).once('error', reject)
  })
}

function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}
