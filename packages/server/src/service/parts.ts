import { openNotifications } from '../accounts/notifications/part.ts'
import { MemberRequests } from '../accounts/owners/member-requests.ts'
import { openAccounts } from '../accounts/part.ts'
import type { OwnerDeps } from '../accounts/providers/providers.ts'
import { agentsByResponsible, channelsOfActiveAgents } from '../agents/active-agents.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import { openAgents } from '../agents/part.ts'
import type { ChannelSources } from '../channels/kinds/kind.ts'
import { openChannels } from '../channels/part.ts'
import { CheckedWrites } from '../database/checked-writes.ts'
import type { JobHandlers } from '../database/jobs/run-jobs.ts'
import type { ConcurrencyLimiter } from '../http/limits/concurrency-limiter.ts'
import type { RateLimiter } from '../http/limits/rate-limiter.ts'
import type { Part, PartDeps } from '../http/part.ts'
import { openCosigning } from '../log/cosigning/part.ts'
import { openLog } from '../log/part.ts'
import type { Pages } from '../pages/load-pages.ts'
import { openPages } from '../pages/part.ts'
import { openStatements } from '../statements/part.ts'
import { disableWebhooksOfKey } from '../webhooks/disable.ts'
import { openWebhooks } from '../webhooks/part.ts'
import { serveOwners } from './owner-scope.ts'
import { openPrivacy } from './privacy/part.ts'

interface PartsDeps extends PartDeps, OwnerDeps, ReadDeps {
  readonly channelSources: ChannelSources
  readonly pages: Pages
  readonly rateLimiter: RateLimiter | null
  readonly previewLimiter: ConcurrencyLimiter
}

/**
 * The list of what the service is made of. A part that needs another one opens after it.
 * @param limits the metrics of load shedding and rate limits
 * @returns the parts in the order of their routes, metrics and timers. Schemas in /openapi.json are named in this order
 */
export async function openParts(
  unguarded: PartsDeps,
  opened: OpenedParts,
  limits: Part,
): Promise<readonly Part[]> {
  const writes = new CheckedWrites()
  const members = new MemberRequests(writes, unguarded.now)
  const deps = { ...unguarded, db: writes.guard(unguarded.db) }
  const { settings, pages: built } = deps
  const cards = settings.previews.has('card-formats') ? built.cardRenderers : null
  const log = await opened.open(openLog(deps))
  // Each query of PostgreSQL is a round trip, for which all other claims would wait: there, the log's own step is cheaper.
  const claimLog = settings.database.kind === 'sqlite' ? log.claims : null
  const statements = await opened.open(openStatements(deps, log))
  const { wasCertified, rootsAt, approvalsAt } = statements
  const verifiers = {
    findRoot: rootsAt(deps.now),
    verifyApproval: approvalsAt(deps.now),
    wasCertified,
  }
  const agents = await opened.open(openAgents(deps, cards, claimLog, verifiers))
  const { issuerKeys } = statements
  const channels = await opened.open(openChannels(deps))
  const notifications = await opened.open(openNotifications(deps))
  const webhooks = await opened.open(openWebhooks({ ...deps, issuerKeys }))
  const cosigning = await opened.open(openCosigning(deps))
  const accounts = await opened.open(
    openAccounts({
      ...deps,
      channelsOfActiveAgents,
      disableWebhooksOfKey,
      agentsByResponsible,
    }),
  )
  const pages = await opened.open(openPages(deps, agents, log, statements))
  const privacy = await opened.open(openPrivacy(deps))
  const withOwnerRoutes = [
    pages,
    accounts,
    webhooks,
    statements,
    privacy,
    notifications,
    agents,
    log,
    channels,
  ]
  return [
    agents,
    channels,
    notifications,
    webhooks,
    statements,
    limits,
    log,
    cosigning,
    pages,
    { routes: (app) => serveOwners(app, { ...deps, writes, members }, withOwnerRoutes) },
    accounts,
    privacy,
  ]
}

/** Opens parts one after another, and closes them in reverse. */
export class OpenedParts implements AsyncDisposable {
  readonly #closing = new AsyncDisposableStack()

  async open<P extends Part>(opening: P | Promise<P>): Promise<P> {
    const part = await opening
    this.#closing.defer(() => part.close?.())
    return part
  }

  /** Does nothing the second time. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#closing.disposeAsync()
  }
}

/** The job handlers of all parts. @throws Error if two parts have the same kind */
export function jobHandlersOf(parts: readonly Part[]): JobHandlers {
  const handlers = new Map<string, JobHandlers[string]>()
  for (const [kind, handle] of parts.flatMap(({ jobs = {} }) => Object.entries(jobs))) {
    if (handlers.has(kind)) throw new Error(`Two parts handle jobs of the kind ${kind}.`)
    handlers.set(kind, handle)
  }
  return Object.fromEntries(handlers)
}
