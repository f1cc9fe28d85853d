import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { HOST } from './http-exchange.ts'
import { logSize, postClaims, seedClaims } from './log-claims.ts'
import { cpuSeconds, freePort, startServer } from './process.ts'
import { median } from './rounds.ts'
import { Scope } from './scope.ts'

/*
 * Claims per second, and processor time a claim, with and without the transparency log, side by side: this checkout, and one of a
 * release without it. On a machine that does other things as well, only the processor time says something. It is counted until the
 * log has all entries.
 * node bench/compare-log.ts --without ../before [--claims 4000] [--rounds 5] [--connections 64]
 */

const { values } = parseArgs({
  options: {
    without: { type: 'string' },
    claims: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
  },
})
if (values.without === undefined) throw new Error('--without names a checkout without the log')
const count = Number(values.claims)
const CHECKOUTS = { with: resolve(import.meta.dirname, '..'), without: resolve(values.without) }
const dir = mkdtempSync(join(tmpdir(), 'countersign-log-'))
const scope = new Scope()
const results = { with: [] as Result[], without: [] as Result[] }
const order = ['without', 'with'] as const
try {
  const bodies = await seedClaims(join(dir, 'data.db'), count)
  for (let round = 0; round < Number(values.rounds); round++) {
    // In turns, and the other one first in each second round, so that a busy moment hits both.
    for (const system of round % 2 === 0 ? order : order.toReversed()) {
      results[system].push(await measure(CHECKOUTS[system], bodies, system === 'with'))
    }
    const told = order.map((each) => {
      const { perSecond, cpuMicroseconds } = results[each][round] as Result
      return `${each} ${Math.round(perSecond)}/s, ${Math.round(cpuMicroseconds)} µs of CPU`
    })
    console.error(`round ${round + 1}: ${told.join('; ')}`)
  }
} finally {
  await scope.end()
  rmSync(dir, { recursive: true, force: true })
}
const of = (system: 'with' | 'without') => ({
  perSecond: median(results[system].map(({ perSecond }) => perSecond)),
  cpuMicroseconds: median(results[system].map(({ cpuMicroseconds }) => cpuMicroseconds)),
})
console.log(JSON.stringify({ claims: count, without: of('without'), with: of('with') }))

interface Result {
  readonly perSecond: number
  /** For each claim, of the whole process. */
  readonly cpuMicroseconds: number
}

async function measure(
  checkout: string,
  bodies: readonly string[],
  hasLog: boolean,
): Promise<Result> {
  const data = mkdtempSync(join(dir, 'run-'))
  cpSync(join(dir, 'data.db'), join(data, 'countersign.db'))
  const port = await freePort()
  const server = await startServer(scope, {
    args: [join(checkout, 'packages/server/bin/countersignd.mjs'), 'serve'],
    env: {
      ...{ HOST, PORT: String(port), DATA_DIR: data, BASE_URL: `http://${HOST}:${port}` },
      ...{ METRICS_PORT: 'off', DRAIN_SECONDS: '0', LOG_LEVEL: 'silent', RATE_LIMITS: 'off' },
      MAX_CONNECTIONS_PER_ADDRESS: '1000',
    },
    ...{ port, core: null, until: [{ method: 'GET', path: '/readyz' }] },
  })
  const cpuBefore = cpuSeconds(server.pid) ?? Number.NaN
  const began = performance.now()
  await postClaims(port, bodies, Number(values.connections))
  const seconds = (performance.now() - began) / 1000
  while (hasLog && (await logSize(port)) < count) await sleep(100)
  const cpu = (cpuSeconds(server.pid) ?? Number.NaN) - cpuBefore
  await server.stop()
  rmSync(data, { recursive: true, force: true })
  return { perSecond: count / seconds, cpuMicroseconds: (cpu / count) * 1e6 }
}
