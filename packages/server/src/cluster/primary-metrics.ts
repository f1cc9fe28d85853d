import { Counter, collectDefaultMetrics, Gauge, Registry as Metrics } from 'prom-client'
import type { Workers } from './workers.ts'

/** What `/metrics` says where there are workers: what each says of itself, and the primary of itself and of them. */
export function primaryMetrics(workers: Workers): () => Promise<string> {
  const metrics = new Metrics()
  collectDefaultMetrics({ register: metrics })
  new Gauge({
    name: 'countersign_workers_ready',
    help: 'Workers that serve',
    registers: [metrics],
    collect() {
      this.set(workers.ready)
    },
  })
  new Counter({
    name: 'countersign_worker_restarts_total',
    help: 'Times that a worker was started in the place of one that had ended',
    registers: [metrics],
    collect() {
      this.reset()
      this.inc(workers.restarts)
    },
  })
  return async () => workers.metrics(await metrics.metrics())
}
