import { HOST, type HttpRequest } from './http-exchange.ts'
import type { Options } from './options.ts'
import { descendantsOf, type ServerProcess } from './process.ts'
import type { Seed } from './seed.ts'
import type { DataCopy } from './stores.ts'
import { type Bench, startNode } from './systems.ts'

/** How several processes share the load: one port (WORKERS), or one PostgreSQL. */
export type MultiProcessKind = 'workers' | 'nodes'

/** Starts processes on the same data, on any core. */
export interface MultiProcess {
  readonly by: MultiProcessKind
  readonly count: number
  readonly copy: DataCopy
  /** One port per node; workers share one. */
  readonly ports: readonly number[]
  readonly pids: readonly number[]
  stop(): Promise<void>
}

const READY: HttpRequest = { method: 'GET', path: '/readyz' }

/** @param count 1: a single process under the same conditions */
export async function startMultiProcess(
  bench: Bench,
  seed: Seed,
  by: MultiProcessKind,
  count: number,
): Promise<MultiProcess> {
  const copy = await bench.store.copy(seed)
  const nodes = by === 'nodes' ? count : 1
  const settings = { WORKERS: by === 'workers' ? String(count) : '1' }
  const core = bench.machine.pinned?.all ?? null
  const started: ServerProcess[] = []
  for (let i = 0; i < nodes; i++) {
    started.push(await startNode(bench, copy, [READY], { settings, core }))
  }
  const pids = started.flatMap(({ pid }) => [pid, ...descendantsOf(pid)])
  if (pids.length < count) throw new Error(`${pids.length} processes came of ${count} on ${HOST}`)
  return {
    by,
    count,
    copy,
    ports: started.map(({ port }) => port),
    pids,
    async stop() {
      for (const server of started) await server.stop()
      await copy.discard()
    },
  }
}

/** Returns the kinds (workers, nodes) of which the options request several. */
export function multiProcessKinds(options: Options): readonly MultiProcessKind[] {
  return (['workers', 'nodes'] as const).filter((by) => options[by] > 1)
}
