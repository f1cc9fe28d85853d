import { Counter, Gauge, type Registry as Metrics } from 'prom-client'
import { withTimeout } from '../../base/timeout.ts'

/** The database may not answer, and that is when the other metrics are needed most: a scrape must not wait for it. */
const READ_TIMEOUT_MS = 1000

type Labels = Readonly<Record<string, string>>

/** Registers metrics whose values are read on each scrape. */
export class MetricRegistrar {
  readonly #metrics: Metrics

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** @param read if it fails or takes longer than a second, the value is NaN, which triggers no alert */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.#metrics],
      async collect() {
        this.set(await readOr(read, Number.NaN))
      },
    })
  }

  /** @param read if it fails or takes longer than a second, the metric has no samples */
  labelledGauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<readonly [Labels, number]> | Promise<Iterable<readonly [Labels, number]>>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#metrics],
      async collect() {
        const samples = await readOr(read, [])
        this.reset()
        for (const [labels, value] of samples) this.set(labels, value)
      },
    })
  }

  /** @param read counts by labels; if it fails or takes longer than a second, the metric has no samples */
  counter(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<readonly [Labels, number]> | Promise<Iterable<readonly [Labels, number]>>,
  ): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.#metrics],
      async collect() {
        const samples = await readOr(read, [])
        this.reset()
        for (const [labels, count] of samples) this.inc(labels, count)
      },
    })
  }

  /** @param read counts by the value of the label */
  labelledCounter(
    name: string,
    help: string,
    read: () => ReadonlyMap<string, number>,
    label = 'outcome',
  ): void {
    this.counter(name, help, [label], () =>
      [...read()].map(([value, count]) => [{ [label]: value }, count] as const),
    )
  }
}

async function readOr<T>(read: () => T | Promise<T>, fallback: T): Promise<T> {
  try {
    return await withTimeout(Promise.resolve(read()), READ_TIMEOUT_MS)
  } catch {
    return fallback
  }
}
