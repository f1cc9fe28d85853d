import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BareTask } from './bare.ts'
import { type Answer, type Ask, HOST } from './exchange.ts'
import type { Machine } from './machine.ts'
import type { Patience } from './patience.ts'
import { freePort, type ServerProcess, startServer } from './process.ts'
import type { Scope } from './scope.ts'
import type { Data, DataCopy, Store } from './stores.ts'

/** What is measured, and what it is measured beside: `one` is countersign in one process, beside several. */
export type System = 'countersign' | 'ceiling' | 'naive' | 'one'

/** What every part of the bench needs. */
export interface Bench {
  readonly scope: Scope
  readonly machine: Machine
  /** A directory of this run, which goes with it. */
  readonly dir: string
  readonly store: Store
  /** Settings of countersignd that the number of agents asks for. */
  readonly settings: Readonly<Record<string, string>>
  readonly patience: Patience
  readonly say: (line: string) => void
}

/** The address that both services think they have, so that their answers are the same. */
export const BASE_URL = 'https://agents.example'
const ROOT = join(import.meta.dirname, '..')

/** A server with a copy of a database of its own. */
export interface Service extends ServerProcess {
  /** Stops it, and takes its copy away. */
  stop(): Promise<void>
}

/** @param settings environment variables of countersignd, besides what the bench sets */
export async function startCountersign(
  bench: Bench,
  data: Data,
  until: readonly Ask[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const copy = await bench.store.copy(data)
  return withCopy(copy, await startNode(bench, copy, until, { settings, core: core(bench) }))
}

/** Starts countersignd on data that it may share. @param core where it may run, or null for anywhere */
export async function startNode(
  { scope, settings: ofBench }: Bench,
  copy: DataCopy,
  until: readonly Ask[],
  { settings, core }: { settings: Readonly<Record<string, string>>; core: string | null },
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
  const args = [join(ROOT, 'packages/server/bin/countersignd.mjs'), 'serve']
  return startServer(scope, { args, env, port, core, until })
}

/** Its data are in SQLite, whatever countersign's are in. */
export async function startNaive(
  bench: Bench,
  database: string,
  until: readonly Ask[],
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

/** Headers that node:http adds by itself. */
const NODES_OWN = ['date', 'connection', 'keep-alive']

/** Starts a bare server that gives the same answer as the one that a service gave. */
export async function startBare(
  bench: Bench,
  sample: Answer,
  until: Ask,
  { verifies }: { readonly verifies: boolean },
): Promise<ServerProcess> {
  const port = await freePort()
  const pairs = Array.from({ length: sample.rawHeaders.length / 2 }, (_, i) =>
    sample.rawHeaders.slice(2 * i, 2 * i + 2),
  )
  const keepAlive = pairs.find(([name]) => name?.toLowerCase() === 'keep-alive')?.[1]
  const task: BareTask = {
    port,
    headers: pairs.filter(([name = '']) => !NODES_OWN.includes(name.toLowerCase())).flat(),
    body: sample.body.toString('base64'),
    keepAliveMs: Number(/timeout=(\d+)/.exec(keepAlive ?? '')?.[1] ?? 5) * 1000,
    verifies,
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
