import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareClaims, sendClaims } from '../../../../test/support/many-claims.ts'
import { POSTGRES_ONLY, query } from '../../../../test/support/postgres.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { databaseAt, on, startPair } from './support.ts'

test(
  'after a failover to the synchronous standby, no acknowledged claim is lost, and the node recovers by itself',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby } = await startPair(t)
    const admin = `${primary.url}/postgres`
    await query(admin, "alter system set synchronous_standby_names = 'standby'")
    await query(admin, 'select pg_reload_conf()')
    const isSynchronous = "select 1 from pg_stat_replication where sync_state = 'sync'"
    await until(async () => (await query(admin, isSynchronous)).length === 1, 30_000)

    // The standby is listed first: it is up, but read-only.
    const service = await startTestService(t, { DATABASE_URL: databaseAt(standby, primary) })
    const claims = await prepareClaims(service.operator, 400)
    const acknowledged: string[] = []
    const failed: number[] = []
    await sendClaims(service.url, claims, 8, (_claim, { status, body }) => {
      if (status === 200) acknowledged.push(body.svcDid as string)
      else failed.push(status)
      if (acknowledged.length === 150 && failed.length === 0) {
        process.kill(primary.pid, 'SIGKILL')
        void query(`${standby.url}/postgres`, 'select pg_promote()')
      }
    })
    assert.ok(acknowledged.length >= 150)
    for (const status of failed) assert.equal(status, 503)
    for (const did of acknowledged) {
      const tail = did.slice(-24)
      const [row] = await on(standby, `select 1 from agents where tail = '${tail}'`)
      assert.ok(row, `${did} was acknowledged, but is lost`)
    }
    const [did] = acknowledged as [string]
    await until(
      async () => (await fetch(`${service.url}/api/v1/agent/${did}`)).status === 200,
      30_000,
    )
    await claimAgent(service, await service.operator.addVerifiedOwner())
  },
)
