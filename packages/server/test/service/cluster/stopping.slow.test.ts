import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startCallers } from '../../../../../test/support/callers.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimBody,
  postJson,
  type ServiceProcess,
  startServiceProcess,
} from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { getOverNewConnection, startWithWorkers, workersOf } from './worker-service.ts'

test('a stop under load drops no request of clients that stop at the 503 of /readyz, and exits with 0', async (t) => {
  const service = await startWithWorkers(t, 3, { DRAIN_SECONDS: '4' })
  const callers = startCallers(`${service.url}/healthz`, { keeping: 32, anew: 4 })
  await until(async () => callers.answered() > 100)
  const exited = service.stop('SIGTERM')
  const readyz = `${service.url}/readyz`
  await until(async () => (await getOverNewConnection(readyz)).status !== 200)
  const { answered, dropped } = await callers.end()
  assert.equal(await exited, 0)
  assert.equal(dropped, 0)
  assert.ok(answered > 100)
})

test('a signal that also reaches the workers, as from a terminal, causes one stop', async (t) => {
  const service = await startServiceProcess(t, { WORKERS: '2', DRAIN_SECONDS: '5' })
  for (const pid of workersOf(service)) process.kill(pid, 'SIGINT')
  const exited = service.stop('SIGINT')
  const isReady = async () => (await getOverNewConnection(`${service.url}/readyz`)).status === 200
  await until(async () => !(await isReady()), 20_000)
  assert.equal((await getOverNewConnection(`${service.url}/readyz`)).status, 503)
  assert.equal((await getOverNewConnection(`${service.url}/healthz`)).status, 200)
  assert.equal(await exited, 0)
})

test('unused connections do not delay a stop', async (t) => {
  const service = await startServiceProcess(t, { WORKERS: '2' })
  const { hostname, port } = new URL(service.url)
  const silent = Array.from({ length: 100 }, () => connect(Number(port), hostname))
  for (const socket of silent) socket.on('error', () => undefined)
  await Promise.all(
    silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  )
  assert.equal(await service.stop('SIGTERM'), 0)
  for (const socket of silent) socket.destroy()
})

test('a second signal ends all processes at once', async (t) => {
  const service = await startServiceProcess(t, { WORKERS: '2', DRAIN_SECONDS: '60' })
  const workers = workersOf(service)
  const exited = service.stop('SIGTERM')
  await until(async () => (await fetch(`${service.url}/readyz`)).status === 503, 20_000)
  service.child.kill('SIGTERM')
  assert.equal(await exited, 1)
  await until(async () => !workers.some(isAlive), 20_000)
})

test('workers exit when the primary is killed, and acknowledged claims survive', async (t) => {
  const service = await startWithWorkers(t, 2)
  const workers = workersOf(service)
  const did = await claimAt(
    service,
    await service.operator.issueToken(await service.operator.addVerifiedOwner()),
  )
  await service.stop('SIGKILL')
  await until(async () => !workers.some(isAlive), 20_000)
  const again = await startServiceProcess(t, {
    WORKERS: '2',
    DATA_DIR: service.env.DATA_DIR as string,
  })
  assert.equal((await fetch(`${again.url}/api/v1/agent/${did}`)).status, 200)
})

async function claimAt(service: ServiceProcess, token: string): Promise<string> {
  const answer = await postJson(`${service.url}/api/v1/claim`, claimBody(token, newKey()))
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { svcDid: string }).svcDid
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
