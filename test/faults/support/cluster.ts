import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { startSession } from '../../../packages/server/src/accounts/owners/session.ts'
import { readSettings } from '../../../packages/server/src/base/config.ts'
import { Cookies } from '../../../packages/server/src/http/cookies.ts'
import { freePort } from '../../support/ports.ts'
import {
  openOperator,
  type ServiceProcess,
  startServiceProcess,
  tempDir,
} from '../../support/service.ts'

/** The headers that an owner's browser sends with every request. */
export type OwnerHeaders = Readonly<Record<'cookie' | 'origin', string>>

/** Nodes of one service, each in its own process, and signed-in owners. */
export interface Cluster {
  readonly nodes: readonly [ServiceProcess, ServiceProcess]
  readonly owners: readonly OwnerHeaders[]
  /** Restarts a node that has exited. */
  restart(node: ServiceProcess): Promise<ServiceProcess>
}

/**
 * Starts two nodes.
 * @param database the database, which is also checked at the end
 * @param ways each node's connection string, if it differs
 */
export async function startCluster(
  t: TestContext,
  { database, ways = [database, database] }: { database: string; ways?: readonly string[] },
  owners = 8,
): Promise<Cluster> {
  const ports = [await freePort(), await freePort()] as const
  const shared = {
    DATA_DIR: tempDir(t),
    // All nodes share one base URL: the balancer's.
    BASE_URL: `http://localhost:${ports[0]}`,
    LOG_LEVEL: process.env.FAULT_LOG_LEVEL ?? 'silent',
  }
  const envOf = (node: number) => ({
    ...shared,
    PORT: String(ports[node]),
    DATABASE_URL: ways[node] as string,
  })
  const env = { ...shared, DATABASE_URL: database }
  const signedIn = await signInOwners(env, owners)
  const nodes = [
    await startServiceProcess(t, envOf(0)),
    await startServiceProcess(t, envOf(1)),
  ] as const
  return { nodes, owners: signedIn, restart: ({ env }) => startServiceProcess(t, env) }
}

/** Verified owners with a session each. */
async function signInOwners(env: Record<string, string>, count: number): Promise<OwnerHeaders[]> {
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  const { origin } = settings.baseUrl
  const signIn = async () => {
    const id = await operator.addVerifiedOwner()
    const browser = { session: null, userAgent: 'a test' }
    const token = await operator.db.write((tx) =>
      startSession({ now: Date.now, randomBytes }, tx, { id, method: 'passkey', browser }),
    )
    return { origin, cookie: `${new Cookies(origin).name('session')}=${token}` }
  }
  const owners = await Promise.all(Array.from({ length: count }, signIn))
  await operator.close()
  return owners
}
