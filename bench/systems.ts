import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BareTask } from './bare.ts'
import { HOST, type HttpRequest, type HttpResponse } from './http-exchange.ts'
import type { Machine } from './machine.ts'
import { serviceOf } from './options.ts'
import { freePort, type ServerProcess, startServer } from './process.ts'
import type { Scope } from './scope.ts'
import { ROOT } from './seed.ts'
import type { Data, DataCopy, Store } from './stores.ts'
import { untilLogged } from './until-logged.ts'
import type { WaitBudget } from './wait-budget.ts'

/**
 * The measured systems: countersign, the systems it is compared with (`before` is the service of another checkout), and `one`, a
 * single process compared with several.
 */
export type System = 'countersign' | 'before' | 'ceiling' | 'naive' | 'one'

/** Shared by all parts of the bench. */
export interface Bench {
  readonly scope: Scope
  readonly machine: Machine
  /** A temporary directory of this run. */
  readonly dir: string
  readonly store: Store
  /** Settings of countersignd that depend on the number of agents. */
  readonly settings: Readonly<Record<string, string>>
  readonly waitBudget: WaitBudget
  readonly say: (line: string) => void
}

/** The base URL of both services, so that their answers are equal. */
export const BASE_URL = 'https://agents.example'

/** A server with its own copy of a database. */
export interface Service extends ServerProcess {
  /** Stops it and deletes its copy. */
  stop(): Promise<void>
}

/**
 * @param settings environment variables of countersignd, in addition to the bench's own
 * @param root the checkout of the service
 */
export async function startCountersign(
  bench: Bench,
  data: Data,
  until: readonly HttpRequest[],
  settings: Readonly<Record<string, string>> = {},
  root = ROOT,
): Promise<Service> {
  const copy = await bench.store.copy(data)
  return withCopy(copy, await startNode(bench, copy, until, { settings, core: core(bench), root }))
}

/** The same with the other checkout on its own database; null without one. */
export async function startBefore(
  bench: Bench,
  data: Data,
  until: readonly HttpRequest[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Service | null> {
  const { before } = data
  if (before === null) return null
  const { root, database } = before
  return startCountersign(bench, { ...data, database }, until, settings, root)
}

/**
 * Starts countersignd and stops it, so that later starts are those of a service that has run before. They have all cores.
 * @param before the other checkout, instead of this one
 */
export async function keepStarting(
  bench: Bench,
  data: Data,
  before: Data['before'] = null,
): Promise<{
  start(until: readonly HttpRequest[]): Promise<ServerProcess>
  discard(): Promise<void>
}> {
  const copy = await bench.store.copy({ ...data, database: before?.database ?? data.database })
  const options = { settings: {}, core: null, root: before?.root ?? ROOT }
  const start = (until: readonly HttpRequest[]) => startNode(bench, copy, until, options)
  await (await start([{ method: 'GET', path: '/readyz' }])).stop()
  return { start, discard: () => copy.discard() }
}

/**
 * Starts countersignd on data that other processes may share, and waits until all agents are in its log.
 * @param core the core to run on, or null for any
 */
export async function startNode(
  { scope, settings: ofBench }: Bench,
  copy: DataCopy,
  until: readonly HttpRequest[],
  {
    settings,
    core,
    root = ROOT,
  }: { settings: Readonly<Record<string, string>>; core: string | null; root?: string },
): Promise<ServerProcess> {
  const port = await freePort()
  const env = {
    HOST,
    PORT: String(port),
    BASE_URL,
    METRICS_PORT: 'off',
    DRAIN_SECONDS: '0',
    ...copy.settings,
    ...ofBench,
    ...settings,
  }
  const args = [serviceOf(root), 'serve']
  const server = await startServer(scope, { args, env, port, core, until })
  await untilLogged(port, copy.agents)
  return server
}

/** Always uses SQLite, whichever database countersign uses. */
export async function startNaive(
  bench: Bench,
  database: string,
  until: readonly HttpRequest[],
): Promise<Service> {
  const dir = mkdtempSync(join(bench.dir, 'naive-'))
  const file = join(dir, 'naive.db')
  copyFileSync(database, file)
  const discard = async () => rmSync(dir, { recursive: true, force: true })
  const port = await freePort()
  const env = {
    HOST,
    PORT: String(port),
    DATABASE: file,
    BASE_URL,
    NODE_ENV: 'production',
  }
  const args = [fileURLToPath(import.meta.resolve('./naive.ts'))]
  return withCopy(
    { discard },
    await startServer(bench.scope, { args, env, port, core: core(bench), until }),
  )
}

/** Headers that node:http adds itself. */
const NODE_HEADERS = ['date', 'connection', 'keep-alive']

/**
 * Starts a bare server that sends the same response as the given one.
 * @param database a file to be made, for claims
 */
export async function startBare(
  bench: Bench,
  sample: HttpResponse,
  until: HttpRequest,
  work: BareTask['work'],
  database?: string,
): Promise<ServerProcess> {
  const port = await freePort()
  const pairs = Array.from({ length: sample.rawHeaders.length / 2 }, (_, i) =>
    sample.rawHeaders.slice(2 * i, 2 * i + 2),
  )
  const keepAlive = pairs.find(([name]) => name?.toLowerCase() === 'keep-alive')?.[1]
  const task: BareTask = {
    port,
    headers: pairs.filter(([name = '']) => !NODE_HEADERS.includes(name.toLowerCase())).flat(),
    body: sample.body.toString('base64'),
    keepAliveMs: Number(/timeout=(\d+)/.exec(keepAlive ?? '')?.[1] ?? 5) * 1000,
    work,
    ...(database !== undefined && { database }),
  }
  const args = [fileURLToPath(import.meta.resolve('./bare.ts')), JSON.stringify(task)]
  return startServer(bench.scope, { args, env: {}, port, core: core(bench), until: [until] })
}

function core({ machine }: Bench): string | null {
  return machine.pinned?.server ?? null
}

function withCopy(copy: Pick<DataCopy, 'discard'>, server: ServerProcess): Service {
  return {
    ...server,
    async stop() {
      await server.stop()
      await copy.discard()
    },
  }
}
