import type { Logger } from 'pino'
import type { Settings } from '../../config/config.ts'
import { loadPepper } from '../crypto/secrets.ts'
import type { Database } from '../database/database.ts'
import { withTimeout } from '../timeout.ts'
import type { SharedCounts } from './counts.ts'
import { Limiter } from './limiter.ts'
import { costOf } from './rate.ts'
import { deleteWhole, takeOne, wholeAt } from './rate-count-table.ts'

/** How long a request waits for a count in the database. */
const PATIENCE_MS = 1000
const PRUNE_MS = 60_000

interface Given {
  readonly settings: Settings
  readonly log: Logger
  readonly db: Database
  readonly now: () => number
}

/** What rates are limited with, where the host has switched that preview on. Redis need not be there: see `Limiter`. */
export async function openRateLimits(
  { settings, log, db, now }: Given,
  resources: AsyncDisposableStack,
): Promise<Limiter | null> {
  if (!settings.previews.has('rate-limit')) return null
  const pepper = loadPepper(settings.dataDir)
  const { redisUrl } = settings
  return new Limiter({
    rates: settings.rateLimits,
    shared: redisUrl === null ? inDatabase(db, now, resources) : await inRedis(redisUrl, resources),
    keyOf: (text) => pepper.authenticate('rate-limits', text),
    now,
    onShared: (works, err) =>
      works
        ? log.info('rate limits are counted by all nodes together again')
        : log.warn({ err }, 'rate limits cannot be counted together: each node counts for itself'),
  })
}

/** Loads the client of Redis, which a service without it starts sooner without. */
async function inRedis(url: string, resources: AsyncDisposableStack): Promise<SharedCounts> {
  const { RedisCounts } = await import('./redis-counts.ts')
  const counts = new RedisCounts(url)
  resources.defer(() => counts.close())
  return counts
}

function inDatabase(
  db: Database,
  now: () => number,
  resources: AsyncDisposableStack,
): SharedCounts {
  const timer = setInterval(() => {
    // What is not cleared away now is in a minute.
    db.write((tx) => deleteWhole(tx, now())).catch(() => undefined)
  }, PRUNE_MS)
  resources.defer(() => clearInterval(timer))
  let waiting = 0
  const ended = () => {
    waiting -= 1
  }
  const ask = <T>(work: Promise<T>): Promise<T> => {
    waiting += 1
    // Not when the wait for it ends: a write that has been asked for stays in front of others.
    work.then(ended, ended)
    // A count that arrives too late is still stored, which errs on the side of the limit.
    return withTimeout(work, PATIENCE_MS, 'The database took too long.')
  }
  return {
    get waiting() {
      return waiting
    },
    async take(key, rate, at) {
      const taking = { now: at, cost: costOf(rate), window: rate.windowMs }
      const row = await ask(db.write((tx) => takeOne(tx, key, taking)))
      return { wholeAt: row.whole_at, taken: row.taken === 1 }
    },
    wholeAt: (key) => ask(wholeAt(db.read, key)),
  }
}
