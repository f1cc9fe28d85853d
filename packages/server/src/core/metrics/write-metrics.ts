import { Histogram } from './histogram.ts'
import { Outcomes } from './outcomes.ts'

/** Upper bounds, in seconds: an SSD's fsync is at the lower end, a standby far away or a wait for one's turn at the upper. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A transaction that wrote, or tried to. */
interface TransactionEnd {
  readonly end: 'committed' | 'undone' | 'failed' | 'unknown'
  /** How many writes it carried, and how many of them undid themselves. */
  readonly writes: number
  readonly undone: number
  readonly seconds: number
}

/** What becomes of writes and of the transactions that carry them. */
export class WriteMetrics {
  readonly transactions = new Outcomes(['committed', 'failed', 'unknown'])
  readonly writes = new Outcomes(['committed', 'undone', 'failed', 'unknown'])
  readonly #seconds = new Histogram(BOUNDS)

  observe({ end, writes, undone, seconds }: TransactionEnd): void {
    this.writes.add('undone', undone)
    if (end === 'undone') return
    this.writes.add(end, writes - undone)
    this.transactions.add(end)
    this.#seconds.observe(seconds)
  }

  /** How long transactions took, in the text format of Prometheus. */
  render(): string {
    const name = 'countersign_transaction_seconds'
    const lines = [
      `# HELP ${name} From the beginning of a transaction that writes to its being durable`,
      `# TYPE ${name} histogram`,
      ...this.#seconds.render(name),
    ]
    return `${lines.join('\n')}\n`
  }
}
