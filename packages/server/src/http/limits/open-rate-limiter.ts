import type { Logger } from 'pino'
import type { Settings } from '../../base/config.ts'
import { withTimeout } from '../../base/timeout.ts'
import type { Database } from '../../database/database.ts'
import { loadPepper } from '../../secrets/secrets.ts'
import { emissionInterval } from './quota.ts'
import type { SharedQuotaStore } from './quota-store.ts'
import { deleteFullQuotas, quotaResetAt, takeFromQuota } from './rate-count-table.ts'
import { RateLimiter } from './rate-limiter.ts'
import { ratesInForce } from './rate-limits.ts'

const QUERY_TIMEOUT_MS = 1000
const PRUNE_MS = 60_000

interface RateLimiterParts {
  readonly settings: Settings
  readonly log: Logger
  readonly db: Database
  readonly now: () => number
}

/** Opens the rate limiter; null if no limit applies. Starts without Redis too, and then counts locally. */
export async function openRateLimiter(
  { settings, log, db, now }: RateLimiterParts,
  resources: AsyncDisposableStack,
): Promise<RateLimiter | null> {
  const rates = ratesInForce(settings.rateLimits, settings.previews.has('rate-limit'))
  if ([...rates.values()].every((rate) => rate === null)) return null
  const pepper = loadPepper(settings)
  const { redisUrl } = settings
  return new RateLimiter({
    rates,
    shared:
      redisUrl === null
        ? openDatabaseStore(db, now, resources)
        : await openRedisStore(redisUrl, resources),
    keyOf: (text) => pepper.authenticate('rate-limits', text),
    now,
    onSharedChange: (works, err) =>
      works
        ? log.info('rate limits are shared by all nodes again')
        : log.warn({ err }, 'rate limits are not shared: each node counts on its own'),
  })
}

/** Imports the Redis client on demand: a service without Redis starts faster. */
async function openRedisStore(
  url: string,
  resources: AsyncDisposableStack,
): Promise<SharedQuotaStore> {
  const { RedisQuotaStore } = await import('./redis-quota-store.ts')
  const counts = new RedisQuotaStore(url)
  resources.defer(() => counts.close())
  return counts
}

function openDatabaseStore(
  db: Database,
  now: () => number,
  resources: AsyncDisposableStack,
): SharedQuotaStore {
  const timer = setInterval(() => {
    // The next run deletes what a failed one left.
    db.write((tx) => deleteFullQuotas(tx, now())).catch(() => undefined)
  }, PRUNE_MS)
  resources.defer(() => clearInterval(timer))
  let pending = 0
  const ended = () => {
    pending -= 1
  }
  const track = <T>(work: Promise<T>): Promise<T> => {
    pending += 1
    // Counted until it ends, not until the time-out: a write stays in the queue of writes.
    work.then(ended, ended)
    // A count that arrives too late is still stored, which errs on the side of the limit.
    return withTimeout(work, QUERY_TIMEOUT_MS, 'The database took too long.')
  }
  return {
    get pending() {
      return pending
    },
    async take(key, rate, at) {
      const taking = { now: at, cost: emissionInterval(rate), window: rate.windowMs }
      const row = await track(db.write((tx) => takeFromQuota(tx, key, taking)))
      return { resetAt: row.whole_at, taken: row.taken === 1 }
    },
    resetAt: (key) => track(quotaResetAt(db.read, key)),
  }
}
