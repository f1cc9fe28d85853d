import { Histogram } from './histogram.ts'
import { OutcomeCounter } from './outcome-counter.ts'

/** In seconds: from the fsync of an SSD up to a remote standby, or a wait for the write lock. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The end of a transaction that carried writes. */
interface TransactionEnd {
  readonly end: 'committed' | 'undone' | 'failed' | 'unknown'
  readonly writes: number
  /** How many of the writes rolled back to their own savepoint. */
  readonly undone: number
  readonly seconds: number
}

/** Counts writes and the transactions that carry them, by outcome. */
export class WriteMetrics {
  readonly transactions = new OutcomeCounter(['committed', 'failed', 'unknown'])
  readonly writes = new OutcomeCounter(['committed', 'undone', 'failed', 'unknown'])
  readonly #seconds = new Histogram(BOUNDS)

  observe({ end, writes, undone, seconds }: TransactionEnd): void {
    this.writes.add('undone', undone)
    if (end === 'undone') return
    this.writes.add(end, writes - undone)
    this.transactions.add(end)
    this.#seconds.observe(seconds)
  }

  /** Renders the duration of transactions in the Prometheus text format. */
  render(): string {
    const name = 'countersign_transaction_seconds'
    const lines = [
      `# HELP ${name} Duration of write transactions until they are durable`,
      `# TYPE ${name} histogram`,
      ...this.#seconds.render(name),
    ]
    return `${lines.join('\n')}\n`
  }
}
