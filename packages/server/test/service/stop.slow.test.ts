import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCallers } from '../../../../test/support/callers.ts'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { BASE_ENV } from '../../../../test/support/run.ts'
import {
  COUNTERSIGND,
  claimBody,
  openOperator,
  startServiceProcess,
  testEnv,
} from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'
import { stallWrites } from '../http/limits/rate-limit/support.ts'

test('on SIGTERM the service first reports not ready, still answers requests, then exits with 0', async (t) => {
  const service = await startServiceProcess(t, { DRAIN_SECONDS: '5' })
  const exited = service.stop('SIGTERM')
  await until(async () => (await fetch(`${service.url}/readyz`)).status === 503, 20_000)
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
  assert.equal(await exited, 0)
})

test('SIGTERM during startup stops the service once it has started, with exit code 0', async (t) => {
  const env = await testEnv(t)
  const settings = readSettings(env)
  // With the tables in place, blocked writes hold up the startup until the signal is sent.
  await (await openOperator(settings)).close()
  rmSync(join(settings.dataDir, 'identity-pepper'))
  const goOn = await stallWrites(t, settings)
  const child = spawn(process.execPath, [COUNTERSIGND, 'serve'], {
    env: { ...BASE_ENV, ...env, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  // Created during startup, before anything listens.
  await until(async () => existsSync(join(env.DATA_DIR as string, 'identity-pepper')), 20_000)
  assert.equal(await fetch(`http://localhost:${env.PORT}/healthz`).catch(() => null), null)
  child.kill('SIGTERM')
  await goOn()
  assert.equal(await exited, 0)
  assert.match(output, /"stopping".*"stopped"/s)
})

test('a stop under load drops no request of clients that stop at the 503 of /readyz', async (t) => {
  const service = await startServiceProcess(t, { DRAIN_SECONDS: '4' })
  const callers = startCallers(`${service.url}/healthz`, { keeping: 32, anew: 0 })
  await until(async () => callers.answered() > 100)
  const exited = service.stop('SIGTERM')
  await until(async () => !(await fetch(`${service.url}/readyz`)).ok)
  const { answered, dropped } = await callers.end()
  assert.equal(await exited, 0)
  assert.equal(dropped, 0)
  assert.ok(answered > 100)
})

test('a claim in progress is answered before the service stops', async (t) => {
  const service = await startServiceProcess(t)
  const operator = await openOperator(readSettings(service.env))
  const token = await operator.issueToken(await operator.addVerifiedOwner())
  await operator.close()
  const body = JSON.stringify(claimBody(token))
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (chunk) => (answer += chunk))
  const head = `POST /api/v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  // 100 Continue arrives once the service has read the headers.
  socket.write(`${head}Expect: 100-continue\r\n\r\n${body.slice(0, 40)}`)
  const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'
  await until(async () => answer === goOn, 20_000)
  const exited = service.stop('SIGTERM')
  await until(() => refusesConnections(service.url), 20_000)
  socket.write(body.slice(40))
  await new Promise((resolve) => socket.once('close', resolve))
  assert.match(answer.slice(goOn.length), /^HTTP\/1\.1 200 OK\r\n/)
  assert.equal(await exited, 0)
})

function refusesConnections(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), 'localhost')
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
    socket.once('connect', () => socket.destroy())
  })
}

test('unused connections do not delay a stop', async (t) => {
  const service = await startServiceProcess(t)
  const { hostname, port } = new URL(service.url)
  const silent = Array.from({ length: 100 }, () => connect(Number(port), hostname))
  for (const socket of silent) socket.on('error', () => undefined)
  await Promise.all(
    silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  )
  const started = performance.now()
  assert.equal(await service.stop('SIGTERM'), 0)
  // Far below the minute after which the service would close them by itself.
  assert.ok(performance.now() - started < 20_000)
  for (const socket of silent) socket.destroy()
})

test('a stop checkpoints the database: no write-ahead log is left', SQLITE_ONLY, async (t) => {
  const service = await startServiceProcess(t)
  const operator = await openOperator(readSettings(service.env))
  await operator.issueToken(await operator.addVerifiedOwner())
  await operator.close()
  assert.equal(await service.stop('SIGTERM'), 0)
  const log = join(service.env.DATA_DIR as string, 'countersign.db-wal')
  assert.equal(existsSync(log), false)
})
