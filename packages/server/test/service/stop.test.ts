import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimBody, openOperator, startServiceProcess } from '../../../../test/support/service.ts'
import { readSettings } from '../../src/config.ts'

test('on SIGTERM readiness goes first, requests are still answered, and the process ends with 0', async (t) => {
  const service = await startServiceProcess(t, { DRAIN_SECONDS: '2' })
  const exited = service.stop('SIGTERM')
  await sleep(300)
  assert.equal((await fetch(`${service.url}/readyz`)).status, 503)
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
  assert.equal(await exited, 0)
})

test('a stop under load drops no request of callers who heed readiness', async (t) => {
  const service = await startServiceProcess(t, { DRAIN_SECONDS: '1' })
  const outcomes = { answered: 0, dropped: 0 }
  let ready = true
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const caller = async () => {
    while (ready)
      outcomes[(await isAnswered(`${service.url}/healthz`, agent)) ? 'answered' : 'dropped'] += 1
  }
  const callers = Array.from({ length: 32 }, caller)
  await sleep(300)
  const exited = service.stop('SIGTERM')
  while ((await fetch(`${service.url}/readyz`)).ok) await sleep(20)
  ready = false
  await Promise.all(callers)
  agent.destroy()
  assert.equal(await exited, 0)
  assert.equal(outcomes.dropped, 0)
  assert.ok(outcomes.answered > 100)
})

test('a claim that is on its way when the service stops is answered', async (t) => {
  const service = await startServiceProcess(t)
  const operator = await openOperator(readSettings(service.env))
  const token = await operator.issueToken(await operator.addVerifiedOwner())
  await operator.close()
  const body = JSON.stringify(claimBody(token))
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST /api/v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 40)}`,
  )
  await sleep(200)
  const exited = service.stop('SIGTERM')
  await sleep(300)
  let answer = ''
  socket.on('data', (chunk) => (answer += chunk))
  socket.write(body.slice(40))
  await new Promise((resolve) => socket.once('close', resolve))
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  assert.equal(await exited, 0)
})

test('connections that say nothing do not hold the end up', async (t) => {
  const service = await startServiceProcess(t)
  const { hostname, port } = new URL(service.url)
  const silent = Array.from({ length: 100 }, () => connect(Number(port), hostname))
  for (const socket of silent) socket.on('error', () => undefined)
  await Promise.all(
    silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  )
  const started = Date.now()
  assert.equal(await service.stop('SIGTERM'), 0)
  assert.ok(Date.now() - started < 5000)
  for (const socket of silent) socket.destroy()
})

function isAnswered(url: string, agent: Agent): Promise<boolean> {
  return new Promise((resolve) => {
    request(url, { agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode === 200))
      response.on('error', () => resolve(false))
    })
      .on('error', () => resolve(false))
      .end()
  })
}
