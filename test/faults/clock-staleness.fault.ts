import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tail } from '@countersign/protocol'
import { changeStatus } from '../../packages/server/src/agents/manage/change-status.ts'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { startPostgres } from '../support/postgres.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  testEnv,
} from '../support/service.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { needs } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { newClock } from './support/moved-clock.ts'
import { report } from './support/report.ts'
import { formatPercentiles } from './support/times.ts'

/** MAX_STALENESS plus time for the response and this machine. */
const BOUND_MS = 2000 + 1500

test(
  'MAX_STALENESS is not changed by a clock that moves back or ahead',
  needs('faketime'),
  async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    const env = await testEnv(t, { DATABASE_URL: `${postgres.url}/countersign_template` })
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    const clock = await newClock(t)
    const node = await startServiceProcess(t, { ...env, DATABASE_URL: proxy.url, ...clock.env })
    const operator = await openOperator(readSettings(env))
    t.after(() => operator.close())
    const dids: string[] = []
    for (let i = 0; i < 2; i++) {
      const token = await operator.issueToken(await operator.addVerifiedOwner())
      const response = await postJson(`${node.url}/api/v1/claim`, claimBody(token))
      dids.push(((await response.json()) as { svcDid: string }).svcDid)
    }
    const says = async (did: string) => {
      const response = await fetch(`${node.url}/api/v1/agent/${did}`)
      const body = (await response.json()) as { certificate?: { status: string } }
      return body.certificate?.status ?? String(response.status)
    }

    const silences: number[] = []
    const vouched: number[] = []
    const recoveries: number[] = []
    for (const [i, minutes] of [-10, 10].entries()) {
      const did = dids[i] as string
      clock.move(0)
      // The last answer may be from an earlier poll, so wait for the next one before the connection is paused.
      await sleep(500)
      assert.equal(await says(did), 'active')
      proxy.pause()
      const pausedAt = performance.now()
      clock.move(minutes)
      assert.equal(await says(did), 'active', 'a clock that moves is no reason to stop')
      const tail = did.slice(-24) as Tail
      const change = { tail, to: 'revoked', reason: null, by: 'operator' } as const
      await changeStatus({ db: operator.db, now: Date.now }, change)
      let last = 0
      await until(async () => {
        const said = await says(did)
        if (said === 'active') last = performance.now() - pausedAt
        return said === '503'
      }, BOUND_MS + 5000)
      silences.push(performance.now() - pausedAt)
      vouched.push(last)
      proxy.resume()
      const resumedAt = performance.now()
      await until(async () => (await says(did)) === 'revoked', 10_000)
      recoveries.push(performance.now() - resumedAt)
    }
    report(t, {
      'vouched without news for': formatPercentiles(vouched),
      'from silence to 503': formatPercentiles(silences),
      'from news to the revocation': formatPercentiles(recoveries),
    })
    for (const time of vouched) assert.ok(time > 1000 && time < BOUND_MS)
  },
)
