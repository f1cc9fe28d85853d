import { join } from 'node:path'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { OwnerDeps } from '../accounts/providers/providers.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import type { AgentsPart } from '../agents/part.ts'
import { PACKAGES_DIR } from '../base/packages.ts'
import type { ChannelSources } from '../channels/kinds/kind.ts'
import type { ConcurrencyLimiter } from '../http/limits/concurrency-limiter.ts'
import type { RateLimiter } from '../http/limits/rate-limiter.ts'
import type { PartDeps } from '../http/part.ts'
import { RenderedCache } from '../http/rendered.ts'
import type { LogPart } from '../log/part.ts'
import type { StatementsPart } from '../statements/part.ts'
import { KeyDirectories } from './check-request/key-directories.ts'
import { serveDashboard } from './dashboard/dashboard-routes.ts'
import { sessionRoutes } from './dashboard/session-routes.ts'
import { streamRoute } from './dashboard/stream-routes.ts'
import { deploymentOf } from './docs/deployment-names.ts'
import { docsRoutes, skillRoutes } from './docs/docs-routes.ts'
import { Library } from './docs/library.ts'
import { developmentMailRoute, emailLinkRoutes } from './email-link-routes.ts'
import { goModuleRoutes } from './go-module-routes.ts'
import type { Pages } from './load-pages.ts'
import { packageRoutes } from './package-routes.ts'
import { servePages } from './page-routes.ts'

/** Written by `npm run build`. */
const DASHBOARD_DIR = join(import.meta.dirname, '../../../dashboard/dist')
const DOCS_DIR = join(import.meta.dirname, '../../dist/docs')

/** Of pages of agents, and of pages that show who is signed in. */
const MAX_RENDERED_BYTES = 32 * 1024 * 1024

interface PagesPartDeps extends PartDeps, OwnerDeps, ReadDeps {
  readonly channelSources: ChannelSources
  readonly pages: Pages
  /** Null: nothing is limited. */
  readonly rateLimiter: RateLimiter | null
  readonly previewLimiter: ConcurrencyLimiter
}

/** Public pages, documentation, the console and the dashboard. */
export function openPages(
  context: PagesPartDeps,
  { verify }: AgentsPart,
  { loggedKeys }: LogPart,
  { rootsAt, approvalsAt }: StatementsPart,
): OwnersPart {
  const { settings, db, site, pages, rateLimiter, previewLimiter } = context
  const read = { ...context, db: db.read }
  const mailDeps = { ...context, mailDelivery: settings.mail?.kind ?? null }
  const renderedPages = new RenderedCache(MAX_RENDERED_BYTES)
  const library = new Library(DOCS_DIR, deploymentOf(settings, rateLimiter?.limits ?? []))
  const directories = new KeyDirectories(context)
  return {
    async routes(app) {
      await servePages(app, {
        read,
        findRoot: rootsAt(context.now),
        verifyApproval: approvalsAt(context.now),
        pages,
        verify,
        inspect: { ...context, directories, rootsAt, approvalsAt },
        challenges: context,
        loggedKeys,
        previewLimiter,
        renderedPages,
      })
      await emailLinkRoutes(app, { deps: mailDeps, pages })
      developmentMailRoute(app, { deps: mailDeps, pages })
      const { providers } = context
      await serveDashboard(app, {
        baseUrl: site.baseUrl,
        serviceName: context.serviceName,
        providers,
        dir: DASHBOARD_DIR,
      })
      packageRoutes(app, site.naming, PACKAGES_DIR)
      goModuleRoutes(app, site.naming, PACKAGES_DIR)
      docsRoutes(app, { library, pages, read, renderedPages })
      skillRoutes(app, library)
    },
    ownerRoutes(app, owners) {
      const { recoveryDelayMs } = settings
      sessionRoutes(app, { ...owners, deps: { ...context, recoveryDelayMs } })
      streamRoute(app, { ...owners, deps: context })
    },
  }
}
