import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Tail } from '@countersign/protocol'
import { changeStatus } from '../../packages/server/src/agents/manage/change-status.ts'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { newKey } from '../support/key.ts'
import { startPostgres } from '../support/postgres.ts'
import { withRaw } from '../support/raw-database.ts'
import {
  type ClaimBody,
  claimBody,
  type Operator,
  openOperator,
  postJson,
  type ServiceProcess,
  startServiceProcess,
  testEnv,
} from '../support/service.ts'
import { startSessionOf } from '../support/signed-in.ts'
import { needs } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { assertInvariants } from './support/acknowledged-claims.ts'
import { formatAnswers, lookUpClaims } from './support/lookup-load.ts'
import { type MovedClock, newClock } from './support/moved-clock.ts'
import { report } from './support/report.ts'
import { formatPercentiles } from './support/times.ts'

for (const database of ['SQLite', 'PostgreSQL'] as const) {
  test(
    `if the clock moves by ten minutes on ${database}, tokens expire early or late, and none can be used twice`,
    needs('faketime'),
    async (t) => {
      const { clock, operator, nodes, settings } = await startScene(t, database)
      const [node] = nodes as [ServiceProcess]
      const tokenOf = async (owner: number) => claimBody(await operator.issueToken(owner), newKey())
      const newOwner = () => operator.addVerifiedOwner()
      const used = await tokenOf(await newOwner())
      const did = await claimed(node, used)
      const gone = await claimed(node, await tokenOf(await newOwner()))
      await revoke(operator, clock, gone)
      const waiting = await tokenOf(await newOwner())
      const owner = await newOwner()
      const superseded = await tokenOf(owner)
      const live = await tokenOf(owner)
      const session = await startSessionOf({ operator, settings }, owner, clock.now())
      const over = new AbortController()
      t.after(() => over.abort())
      const looking = nodes.map(({ url }) =>
        lookUpClaims(url, () => did, { inFlight: 2, pace: 5, until: over.signal }),
      )
      const follows: number[] = []
      const claimedAndFollowed = async () => {
        const fresh = await claimed(node, await tokenOf(await newOwner()))
        for (const each of nodes) follows.push(await untilSays(each, fresh, 'active'))
        await revoke(operator, clock, fresh)
        for (const each of nodes) follows.push(await untilSays(each, fresh, 'revoked'))
      }

      clock.move(10)
      await assertClock(node, clock)
      assert.equal(await claimCode(node, waiting), '410 TOKEN_EXPIRED')
      assert.equal(await claimCode(node, live), '410 TOKEN_EXPIRED')
      assert.equal(await claimCode(node, used), '410 TOKEN_EXPIRED')
      assert.equal(await ownerCode(node, 'GET', '/api/account', session), '200')
      const codes = '/api/account/recovery-codes'
      assert.equal(await ownerCode(node, 'POST', codes, session), '403 RECENT_SIGN_IN_REQUIRED')
      await claimedAndFollowed()

      clock.move(-10)
      await assertClock(node, clock)
      assert.equal(await claimCode(node, used), '410 TOKEN_EXPIRED', 'used before the clock moved')
      assert.equal(await claimCode(node, superseded), '410 TOKEN_EXPIRED')
      await claimed(node, waiting)
      assert.equal(await claimCode(node, waiting), '410 TOKEN_EXPIRED', 'good once more, and once')
      assert.equal(await ownerCode(node, 'GET', '/api/account', session), '200')
      for (const each of nodes) assert.equal((await untilSays(each, gone, 'revoked')) < 1000, true)
      await claimedAndFollowed()

      clock.move(0)
      await assertClock(node, clock)
      await claimed(node, live)
      assert.equal(await claimCode(node, live), '410 TOKEN_EXPIRED')
      assert.equal(await claimCode(node, waiting), '410 TOKEN_EXPIRED')
      await claimedAndFollowed()

      over.abort()
      const lookups = await Promise.all(looking)
      const { agents, events } = await assertInvariants(settings)
      report(t, {
        'tokens redeemed': agents,
        'tokens good twice': 0,
        events: `${events}, numbered without a gap, ${await datedBack(settings)} of them dated before the one before`,
        'lookups while the clock moved': lookups.map(formatAnswers).join('; '),
        'until every node shows a claim or a revocation': formatPercentiles(follows),
      })
      for (const { answers } of lookups) assert.deepEqual([...answers.keys()], ['active'])
      assert.equal((await datedBack(settings)) > 0, true, 'the control: the clock has gone back')
    },
  )
}

interface Scene {
  readonly clock: MovedClock
  readonly operator: Operator
  /** The first node has the clock that moves. With PostgreSQL there is a second node, whose clock is correct. */
  readonly nodes: readonly ServiceProcess[]
  readonly settings: ReturnType<typeof readSettings>
}

async function startScene(t: TestContext, database: 'SQLite' | 'PostgreSQL'): Promise<Scene> {
  const clock = await newClock(t)
  let place = {}
  if (database === 'PostgreSQL') {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    place = { DATABASE_URL: `${postgres.url}/countersign_template` }
  }
  const env = await testEnv(t, place)
  const settings = readSettings(env)
  const operator = await openOperator(settings, clock.now)
  t.after(() => operator.close())
  const nodes = [await startServiceProcess(t, { ...env, ...clock.env })]
  if (database === 'PostgreSQL') {
    const { PORT = '' } = await testEnv(t)
    nodes.push(await startServiceProcess(t, { ...env, PORT }))
  }
  return { clock, operator, nodes, settings }
}

/** Asserts by the Date header that the process uses the test's clock. */
async function assertClock({ url }: ServiceProcess, { now }: MovedClock): Promise<void> {
  // Node updates the Date header once a second.
  await until(async () => {
    const { headers } = await fetch(`${url}/healthz`)
    return Math.abs(Date.parse(headers.get('date') ?? '') - now()) < 3000
  }, 5000)
}

async function claimed({ url }: ServiceProcess, claim: ClaimBody): Promise<string> {
  const response = await postJson(`${url}/api/v1/claim`, claim)
  const body = (await response.json()) as { svcDid: string }
  assert.equal(response.status, 200, JSON.stringify(body))
  return body.svcDid
}

async function claimCode({ url }: ServiceProcess, claim: ClaimBody): Promise<string> {
  return codeOf(await postJson(`${url}/api/v1/claim`, claim))
}

async function ownerCode(
  { url }: ServiceProcess,
  method: string,
  target: string,
  headers: { readonly cookie: string; readonly origin: string },
): Promise<string> {
  const body = method === 'POST' ? { body: '{}' } : {}
  const type = { 'content-type': 'application/json' }
  return codeOf(await fetch(url + target, { method, headers: { ...headers, ...type }, ...body }))
}

async function codeOf(response: Response): Promise<string> {
  if (response.ok) return String(response.status)
  const { error } = (await response.json()) as { error: { code: string } }
  return `${response.status} ${error.code}`
}

function revoke({ db }: Operator, { now }: MovedClock, did: string): Promise<unknown> {
  const tail = did.slice(-24) as Tail
  return changeStatus({ db, now }, { tail, to: 'revoked', reason: null, by: 'operator' })
}

/** @returns the milliseconds until a node reports this status of an agent */
async function untilSays({ url }: ServiceProcess, did: string, status: string): Promise<number> {
  const began = performance.now()
  await until(async () => {
    const response = await fetch(`${url}/api/v1/agent/${did}`)
    const body = (await response.json()) as { certificate?: { status: string } }
    return body.certificate?.status === status
  }, 2000)
  return performance.now() - began
}

/** The number of events with an earlier time than the event before them. */
async function datedBack(settings: Scene['settings']): Promise<number> {
  const events = await withRaw(settings, (raw) => raw.all('SELECT at FROM events ORDER BY seq'))
  const times = events.map(({ at }) => Number(at))
  return times.filter((at, i) => i > 0 && at < (times[i - 1] as number)).length
}
