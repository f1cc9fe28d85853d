import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { randomTail, type Tail } from '@countersign/protocol'
import type { KyselyPlugin, QueryResult, UnknownRow } from 'kysely'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import type { Database, Db } from '../../../src/database/database.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'

/** Blocks the first caller of `pass` until `open`. Later callers pass. */
export class Gate {
  readonly #reached = Promise.withResolvers<void>()
  readonly #opened = Promise.withResolvers<void>()
  readonly reached = this.#reached.promise
  #isPassed = false

  /** Create it before the database, so that at the end it opens before the database closes. */
  constructor(t: TestContext) {
    t.after(() => this.open())
  }

  async pass(): Promise<void> {
    if (this.#isPassed) return
    this.#isPassed = true
    this.#reached.resolve()
    await this.#opened.promise
  }

  open(): void {
    this.#opened.resolve()
  }
}

/** The same database with a hook that is awaited on the first row of each result. */
export function withResultHook(
  db: Db,
  onFirstRow: (row: UnknownRow) => Promise<void> | undefined,
): Db {
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }): Promise<QueryResult<UnknownRow>> {
      const [row] = result.rows
      if (row !== undefined) await onFirstRow(row)
      return result
    },
  }
  return db.withPlugin(plugin)
}

/** An agent with the event of its claim. */
export function addAgent({ db }: { readonly db: Database }, ownerId: number): Promise<Tail> {
  return db.write(async (tx) => {
    const [seq, tail, key] = [tx.nextSeq(), randomTail(randomBytes), randomBytes(32)]
    const at = Date.now()
    const fixed = { seq, tail, public_key: key, agent_id: 'main', owner_id: ownerId }
    await insertAgent(tx, { ...fixed, claimed_at: at, grade: 'C' })
    const payload = { publicKey: key.toString('base64') }
    await appendAgentEvent(tx, { seq, at, type: 'agent.claimed', tail, ownerId, payload })
    return tail
  })
}
