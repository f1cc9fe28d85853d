import { ownersByIds } from '../../accounts/owner-table.ts'
import { DurableFile } from '../../base/durable-file.ts'
import type { Db } from '../../database/database.ts'

/** Longer than most backups are kept. */
const LIFETIME_MS = 400 * 86_400_000

interface Erasure {
  readonly ownerId: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/**
 * The accounts that were erased, in the file `erasures` of the data directory: the number of each owner and the time, nothing
 * else, for 400 days. Outside of the database, because a restored database has the accounts again.
 */
export class Erasures {
  readonly #file: DurableFile

  constructor(dataDir: string) {
    this.#file = new DurableFile(dataDir, 'erasures')
  }

  /** Records an erasure, unless it is recorded, and drops old ones. Durable once it returns. */
  record(ownerId: number, at: number): void {
    this.#file.locked(() => {
      const known = this.#read()
      if (known.some((each) => each.ownerId === ownerId && each.at === at)) return
      const kept = known.filter((each) => each.at > at - LIFETIME_MS)
      this.#file.write([...kept, { ownerId, at }].map(formatLine).join(''))
    })
  }

  /**
   * The erased accounts that a database has again. An account that was made after the erasure is another one with the same
   * number: a restored database does not know which numbers were used after it.
   */
  async restoredIn(db: Db): Promise<{ readonly username: string; readonly erasedAt: number }[]> {
    const erasedAt = new Map(this.#read().map(({ ownerId, at }) => [ownerId, at]))
    const back = []
    for (const { id, username, created_at } of await ownersByIds(db, [...erasedAt.keys()])) {
      const at = erasedAt.get(id) as number
      if (created_at <= at) back.push({ username, erasedAt: at })
    }
    return back
  }

  #read(): Erasure[] {
    const lines = (this.#file.read() ?? '').split('\n')
    return lines.flatMap((line) => {
      const [, id, time] = /^(\d+) (\S+)$/.exec(line) ?? []
      return id === undefined ? [] : [{ ownerId: Number(id), at: Date.parse(time as string) }]
    })
  }
}

function formatLine({ ownerId, at }: Erasure): string {
  return `${ownerId} ${new Date(at).toISOString()}\n`
}
