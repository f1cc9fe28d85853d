import type { TestContext } from 'node:test'
import {
  type PostgresServer,
  query,
  startPostgres,
  startStandby,
} from '../../../../test/support/postgres.ts'
import type { TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

const DATABASE = 'countersign_template'

/** A primary and a standby of it, which stop with the test. */
export interface Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
}

export async function startPair(t: TestContext): Promise<Pair> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  const standby = await startStandby(primary)
  t.after(() => standby.stop())
  return { primary, standby }
}

/** The address of the database of a test at these servers, in the order in which a node tries them. */
export function databaseAt(...servers: readonly PostgresServer[]): string {
  const hosts = servers.map(({ url }) => new URL(url).host).join()
  return `postgres://postgres@${hosts}/${DATABASE}`
}

export const on = (server: PostgresServer, text: string) => query(databaseAt(server), text)

export async function lastEvent(server: PostgresServer): Promise<number> {
  return Number((await on(server, 'select max(seq) as last from events'))[0]?.last)
}

/** @returns the status in the lookup, or that of the answer if it is an error */
export async function lookedUp({ url }: TestService, did: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v1/agent/${did}`)
  const body = (await response.json()) as { certificate?: { status: string } }
  return body.certificate?.status ?? response.status
}

/** Cuts replication: from here on, the standby gets nothing. */
export async function stopReplication({ primary, standby }: Pair): Promise<void> {
  await on(standby, "alter system set primary_conninfo = ''")
  await on(standby, 'select pg_reload_conf()')
  const replicas = 'select 1 from pg_stat_replication'
  await until(async () => (await on(primary, replicas)).length === 0, 30_000)
}
