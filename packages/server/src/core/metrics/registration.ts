import { Counter, Gauge, type Registry as Metrics } from 'prom-client'
import { withTimeout } from '../timeout.ts'

/** The database is asked on a scrape and may not answer, and that is when all the other figures are wanted. */
const PATIENCE_MS = 1000

type Labels = Readonly<Record<string, string>>

/** Metrics whose values are read when somebody scrapes. */
export class Registration {
  readonly #metrics: Metrics

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** @param read what cannot be had in time is NaN, which no alarm compares with anything */
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

  /** @param read what cannot be had in time is left out */
  labelled(
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

  counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.#metrics],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }

  /** Counted by outcome, or by whatever else the label says. */
  outcomes(
    name: string,
    help: string,
    read: () => ReadonlyMap<string, number>,
    label = 'outcome',
  ): void {
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.#metrics],
      collect() {
        this.reset()
        for (const [value, count] of read()) this.inc({ [label]: value }, count)
      },
    })
  }
}

/** @param otherwise in the place of what does not come in time, or not at all */
async function readOr<T>(read: () => T | Promise<T>, otherwise: T): Promise<T> {
  try {
    return await withTimeout(Promise.resolve(read()), PATIENCE_MS)
  } catch {
    return otherwise
  }
}
