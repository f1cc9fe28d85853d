import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { prepareClaims, sendClaims } from '../../../../../test/support/many-claims.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf } from '../../../../../test/support/raw-database.ts'
import type { ClaimBody } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import {
  assertNoGap,
  byWorker,
  getOverNewConnection,
  startWithWorkers,
  statusOverNewConnection,
  untilAllAnswer,
  type WorkerService,
  workersOf,
} from './worker-service.ts'

const IN_FLIGHT = 24
const READY = 'countersign_workers_ready'
const RESTARTS = 'countersign_worker_restarts_total'

test('concurrent claims over many connections all succeed, and event numbers have no gap', async (t) => {
  const service = await startWithWorkers(t, 3)
  const { dids, refused, unanswered } = await claim(service, await prepare(service, 300))
  assert.deepEqual([dids.length, refused, unanswered], [300, [], 0])
  await assertStored(service, dids)
  const metrics = await service.metrics()
  const route = 'route="/api/v1/claim"'
  const claims = byWorker(metrics, 'http_request_duration_seconds_count', route)
  assert.equal(claims.size, 3, 'every worker has had some of them')
  const failed = byWorker(metrics, 'countersign_transactions_total', 'outcome="failed"')
  assert.deepEqual([...failed.values()], [0, 0, 0], 'none has waited for the file in vain')
  await assertNoGap(service)
})

test('a killed worker loses no acknowledged claim; the others keep serving, and it is replaced', async (t) => {
  const service = await startWithWorkers(t, 3, { LOG_LEVEL: 'info' })
  const [victim] = workersOf(service) as [number]
  const claims = await prepare(service, 330)
  const { dids, refused, unanswered } = await claim(service, claims.slice(0, 300), {
    after: 100,
    happen: () => process.kill(victim, 'SIGKILL'),
  })
  assert.deepEqual(refused, [])
  assert.ok(unanswered <= IN_FLIGHT, `${unanswered} have no answer: more than were in flight`)
  await assertStored(service, dids)
  await untilBack(service, victim)
  assert.match(service.output(), /Worker \d has ended: SIGKILL/)
  assert.match(service.output(), /a worker has been started again/)
  await untilAllAnswer(service, 3)
  const after = await claim(service, claims.slice(300))
  assert.equal(after.dids.length, 30)
  await assertNoGap(service)
})

test(
  'a worker that hangs while it may write is killed; the others keep answering, and then write',
  SQLITE_ONLY,
  async (t) => {
    const service = await startWithWorkers(t, 2, { LOG_LEVEL: 'info' })
    const [claimed, ...others] = await prepare(service, 9)
    const held = new DatabaseSync(fileOf(service.settings))
    t.after(() => held.close())
    held.exec('BEGIN IMMEDIATE')
    const cutOff = claim(service, [claimed as ClaimBody])
    const victim = await waitingWorker(service)
    process.kill(victim, 'SIGSTOP')
    held.exec('ROLLBACK')

    let answered = 0
    const claims = others.map(async (each) => {
      const { dids } = await claim(service, [each])
      answered += 1
      return dids
    })
    const health = Array.from({ length: 4 }, () => getOverNewConnection(`${service.url}/healthz`))
    assert.equal((await Promise.any(health)).status, 200)
    assert.equal(answered, 0, 'it was asked while the claims were waiting')
    const dids = (await Promise.all(claims)).flat()
    await Promise.allSettled(health)
    // None, unless the worker that stopped was waiting for a write of its own.
    const first = (await cutOff).dids
    assert.ok(
      dids.length >= others.length - 1,
      'one may have been on its way to the one that stopped',
    )
    await untilBack(service, victim)
    await assertStored(service, [...first, ...dids])
    await assertNoGap(service)
  },
)

test('a hung worker is killed and replaced, and a connection that it has not accepted is closed', async (t) => {
  const service = await startWithWorkers(t, 2, { LOG_LEVEL: 'info' })
  const [victim] = workersOf(service) as [number]
  process.kill(victim, 'SIGSTOP')
  const { hostname, port } = new URL(service.url)
  const sockets = Array.from({ length: 8 }, () => connect(Number(port), hostname))
  let answered = 0
  const answers = sockets.map((socket) => {
    socket.on('error', () => undefined)
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    return new Promise<boolean>((resolve) => {
      socket
        .once('close', () => resolve(false))
        .once('data', () => {
          answered += 1
          resolve(true)
        })
    })
  })
  // The last one is on its way to the worker that is stopped.
  await until(async () => answered === 7)
  const isEnded = async () => service.output().includes('a worker stands still: it is ended')
  await until(isEnded, 60_000).catch((error) => {
    process.kill(victim, 'SIGKILL')
    throw error
  })
  const all = await Promise.all(answers)
  assert.equal(all.filter((isAnswered) => isAnswered).length, 7)
  await untilBack(service, victim)
})

/** The process id of the worker whose write waits for the file. */
async function waitingWorker(service: WorkerService): Promise<number> {
  for (;;) {
    const waiting = byWorker(await service.metrics(), 'countersign_writes_waiting')
    const number = [1, 2].find((each) => (waiting.get(String(each)) ?? 0) > 0)
    const said = new RegExp(`"pid":(\\d+),[^\n]*"worker":${number},`).exec(service.output())
    if (said !== null) return Number(said[1])
  }
}

async function prepare(service: WorkerService, count: number): Promise<ClaimBody[]> {
  await untilAllAnswer(service, workersOf(service).length)
  return prepareClaims(service.operator, count)
}

/** Sends claims, many in flight, and calls `happen` after a number of successes. */
async function claim(
  { url }: WorkerService,
  claims: readonly ClaimBody[],
  { after, happen }: { after: number; happen: () => void } = { after: -1, happen: () => undefined },
) {
  const dids: string[] = []
  const refused: number[] = []
  await sendClaims(url, claims, IN_FLIGHT, (_claim, { status, body }) => {
    if (status === 200) dids.push(body.svcDid as string)
    else refused.push(status)
    if (dids.length === after) happen()
  })
  return { dids, refused, unanswered: claims.length - dids.length - refused.length }
}

/** Asserts that acknowledged claims are in the database and can be looked up. */
async function assertStored(service: WorkerService, dids: readonly string[]): Promise<void> {
  const rows = await service.operator.db.read.selectFrom('agents').select('tail').execute()
  const tails = new Set(rows.map(({ tail }) => tail))
  for (const did of dids)
    assert.ok(tails.has(did.slice(-24)), `${did} was acknowledged and is lost`)
  for (const did of dids.slice(-10))
    await until(async () => (await statusOverNewConnection(service.url, did)) === 'active', 20_000)
}

async function untilBack(service: WorkerService, victim: number): Promise<void> {
  const count = readyIn(await service.metrics())
  assert.ok(count === undefined || count >= 1, 'some have gone on')
  const all = Number(service.env.WORKERS)
  await until(async () => readyIn(await service.metrics()) === all, 60_000)
  assert.equal(byWorker(await service.metrics(), RESTARTS).get('primary'), 1)
  const workers = workersOf(service)
  assert.equal(workers.length, all)
  assert.ok(!workers.includes(victim))
  assert.equal((await getOverNewConnection(`${service.url}/readyz`)).status, 200)
}

function readyIn(metrics: string): number | undefined {
  return byWorker(metrics, READY).get('primary')
}
