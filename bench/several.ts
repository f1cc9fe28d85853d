import { type Ask, HOST } from './exchange.ts'
import type { Options } from './options.ts'
import { descendantsOf, type ServerProcess } from './process.ts'
import type { Seed } from './seed.ts'
import type { DataCopy } from './stores.ts'
import { type Bench, startNode } from './systems.ts'

/** How several processes share the work: one port (WORKERS), or one PostgreSQL. */
export type By = 'workers' | 'nodes'

/** Processes with the same data, on whatever core is free. */
export interface Several {
  readonly by: By
  readonly count: number
  readonly copy: DataCopy
  /** One for each node; workers have one together. */
  readonly ports: readonly number[]
  readonly pids: readonly number[]
  stop(): Promise<void>
}

const READY: Ask = { method: 'GET', path: '/readyz' }

/** @param count 1: one process, in the same circumstances */
export async function startSeveral(
  bench: Bench,
  seed: Seed,
  by: By,
  count: number,
): Promise<Several> {
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

/** Of workers and nodes those of which there are to be several. */
export function severalOf(options: Options): readonly By[] {
  return (['workers', 'nodes'] as const).filter((by) => options[by] > 1)
}
