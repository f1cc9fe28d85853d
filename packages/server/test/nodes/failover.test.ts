import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareClaims, sendClaims } from '../../../../test/support/many-claims.ts'
import {
  POSTGRES_ONLY,
  query,
  startPostgres,
  startStandby,
} from '../../../../test/support/postgres.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

test(
  'where the primary dies and the standby takes its place, no acknowledged claim is lost, and the node goes on by itself',
  POSTGRES_ONLY,
  async (t) => {
    const primary = await startPostgres()
    t.after(() => primary.stop())
    const standby = await startStandby(primary)
    t.after(() => standby.stop())
    const admin = `${primary.url}/postgres`
    await query(admin, "alter system set synchronous_standby_names = 'standby'")
    await query(admin, 'select pg_reload_conf()')
    const follows = "select 1 from pg_stat_replication where sync_state = 'sync'"
    await until(async () => (await query(admin, follows)).length === 1, 30_000)

    // The standby comes first: it is up, and takes no writes.
    const hosts = [standby, primary].map(({ url }) => new URL(url).host).join()
    const DATABASE_URL = `postgres://postgres@${hosts}/countersign_template`
    const service = await startTestService(t, { DATABASE_URL })
    const claims = await prepareClaims(service.operator, 400)
    const acknowledged: string[] = []
    const unanswered: number[] = []
    await sendClaims(service.url, claims, 8, (_claim, { status, body }) => {
      if (status === 200) acknowledged.push(body.svcDid as string)
      else unanswered.push(status)
      if (acknowledged.length === 150 && unanswered.length === 0) {
        process.kill(primary.pid, 'SIGKILL')
        void query(`${standby.url}/postgres`, 'select pg_promote()')
      }
    })
    assert.ok(acknowledged.length >= 150)
    for (const status of unanswered) assert.equal(status, 503)
    for (const did of acknowledged) {
      const tail = did.slice(-24)
      const [row] = await query(
        `${standby.url}/countersign_template`,
        `select 1 from agents where tail = '${tail}'`,
      )
      assert.ok(row, `${did} was acknowledged and is lost`)
    }
    const [did] = acknowledged as [string]
    await until(
      async () => (await fetch(`${service.url}/api/v1/agent/${did}`)).status === 200,
      30_000,
    )
    await claimAgent(service, await service.operator.addVerifiedOwner())
  },
)
