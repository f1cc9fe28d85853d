import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import { MetricRegistrar } from '../../src/http/metrics/metric-registrar.ts'
import { createMetricsServer } from '../../src/http/metrics/metrics-server.ts'

/** The port of `/metrics`, open. @returns asks it */
async function open(t: TestContext, text: () => Promise<string>, failures: unknown[] = []) {
  const server = createMetricsServer(text, (error) => failures.push(error)).listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return async (path = '/metrics') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, text: await response.text() }
  }
}

test('if the metrics cannot be rendered the answer is 500, and the process keeps running', async (t) => {
  const failures: unknown[] = []
  const failure = new Error('no metrics')
  let scrapes = 0
  const text = async () => {
    scrapes += 1
    if (scrapes === 1) throw failure
    return 'up 1\n'
  }
  const ask = await open(t, text, failures)
  const first = await ask()
  assert.equal(first.status, 500)
  assert.doesNotMatch(first.text, /no metrics/)
  assert.deepEqual(failures, [failure])
  assert.deepEqual(await ask(), { status: 200, text: 'up 1\n' })
  assert.equal((await ask('/')).status, 404)
})

test('a metric that fails or hangs does not affect the others', async (t) => {
  const metrics = new Registry()
  const registrar = new MetricRegistrar(metrics)
  let standbys: () => Promise<[{ standby: string }, number][]> = async () => [[{ standby: 'a' }, 7]]
  registrar.labelledGauge('lag', 'By standby', ['standby'], () => standbys())
  registrar.gauge('agents', 'In memory', () => 3)
  const ask = await open(t, () => metrics.metrics())
  const samples = async () => {
    const { status, text } = await ask()
    assert.equal(status, 200)
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  }
  assert.deepEqual(await samples(), ['lag{standby="a"} 7', 'agents 3'])
  standbys = () => Promise.reject(new Error('gone'))
  assert.deepEqual(await samples(), ['agents 3'], 'what it was before is not told again')
  standbys = () => new Promise(() => undefined)
  assert.deepEqual(await samples(), ['agents 3'])
})
