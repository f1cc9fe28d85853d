import { createHash, randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDatabase } from '../packages/server/src/core/database/open-database.ts'
import { HOST } from './http-exchange.ts'
import { claimBody, keyPairOf } from './keys.ts'
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
  const bodies = await prepare(join(dir, 'data.db'))
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

/** Owners with a token each, by the schema of this checkout, which the release before ignores. @returns the claims */
async function prepare(file: string): Promise<string[]> {
  const db = await openDatabase({ kind: 'sqlite', file }, Date.now)
  const now = Date.now()
  const tokens = Array.from(
    { length: count },
    () => `svc-verify-${randomBytes(16).toString('hex')}`,
  )
  await db.write(async (tx) => {
    for (const [i, token] of tokens.entries()) {
      const names = { username: `owner-${i}`, display_name: `Owner ${i}` }
      const empty = {
        username_skeleton: null,
        user_handle: null,
        deleted_at: null,
        suspended_at: null,
      }
      const rest = { suspension_reason: null, name_changed_at: null, badge_copied_at: null }
      const owner = { ...names, ...empty, ...rest, onboarding_hidden_at: null, created_at: now }
      await tx.db
        .insertInto('owners')
        .values({ ...owner, id: i + 1 })
        .execute()
      const hash = createHash('sha256').update(token).digest()
      const times = { created_at: now, expires_at: now + 86_400_000 }
      const unused = { used_at: null, superseded_at: null, position: 0 }
      await tx.db
        .insertInto('claim_tokens')
        .values({ hash, owner_id: i + 1, ...times, ...unused })
        .execute()
    }
  })
  await db.close()
  return tokens.map((token, i) => claimBody(token, 'main', keyPairOf(`claim ${i}`)))
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
  const agent = new Agent({ keepAlive: true, maxSockets: Number(values.connections) })
  const cpuBefore = cpuSeconds(server.pid) ?? Number.NaN
  const began = performance.now()
  await Promise.all(bodies.map((body) => post(port, body, agent)))
  const seconds = (performance.now() - began) / 1000
  agent.destroy()
  while (hasLog && (await logSize(port)) < count) await sleep(100)
  const cpu = (cpuSeconds(server.pid) ?? Number.NaN) - cpuBefore
  await server.stop()
  rmSync(data, { recursive: true, force: true })
  return { perSecond: count / seconds, cpuMicroseconds: (cpu / count) * 1e6 }
}

async function logSize(port: number): Promise<number> {
  const response = await fetch(`http://${HOST}:${port}/log/checkpoint`)
  return response.ok ? Number((await response.text()).split('\n')[1]) : 0
}

/** Repeats what the service refuses because of overload. */
async function post(port: number, body: string, agent: Agent): Promise<void> {
  for (;;) {
    const status = await postOnce(port, body, agent)
    if (status === 200) return
    if (status !== 503) throw new Error(`status ${status}`)
    await sleep(100)
  }
}

function postOnce(port: number, body: string, agent: Agent): Promise<number> {
  return new Promise((done, failed) => {
    const headers = { 'content-type': 'application/json' }
    const options = { host: HOST, port, path: '/api/v1/claim', method: 'POST', headers, agent }
    const sent = request(options, (response) => {
      response.resume()
      response.on('end', () => done(response.statusCode ?? 0))
    })
    sent.on('error', failed)
    sent.end(body)
  })
}
