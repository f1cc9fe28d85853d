import type { RuntimeAnswer } from '@countersign/protocol'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import { type PartDeps, WORK_MS } from '../http/part.ts'
import { openDerivedServiceKeys } from '../secrets/service-keys.ts'
import { cardKeySetRoute } from './card-key-set-routes.ts'
import { EXPIRE_CHANNEL, expireChannel } from './channel-lifecycle.ts'
import { channelsRoutes } from './channel-routes.ts'
import type { ChannelSources } from './kinds/kind.ts'
import { domainRoutes } from './organisation-domain/domain-routes.ts'
import { DomainRechecks } from './organisation-domain/recheck-domain.ts'
import { DueChecks, secondsLate } from './recheck-due.ts'
import { answerRuntime, challengeRuntime } from './runtime-answer.ts'
import { runtimeRoutes } from './runtime-routes.ts'

/** The channels of agents and the domains of organisations, which are checked again and again. */
export async function openChannels(
  context: PartDeps & ReadDeps & { readonly channelSources: ChannelSources },
): Promise<OwnersPart> {
  const { settings, log, db, site, now } = context
  const a2aKeys = await openDerivedServiceKeys({ db, folders: settings }, 'a2a')
  const deps = { ...context, a2aKeys }
  const checks = new DueChecks(deps, (err) => log.error({ err }, 'a check failed'))
  const domains = new DomainRechecks(context, (err) =>
    log.error({ err }, 'a check of a domain failed'),
  )
  return {
    routes(app) {
      runtimeRoutes(app, site.naming, {
        challenge: (reference: string) => challengeRuntime(deps, reference),
        answer: (reference: string, answer: RuntimeAnswer) =>
          answerRuntime(deps, reference, answer),
      })
      cardKeySetRoute(app, { ...deps, db: db.read })
    },
    ownerRoutes(app, owners) {
      channelsRoutes(app, { ...owners, deps })
      domainRoutes(app, { ...owners, deps: context })
    },
    gauges(metrics) {
      metrics.labelledCounter(
        'countersign_channel_checks_total',
        'Scheduled channel checks, by outcome',
        () => checks.ended,
      )
      metrics.gauge(
        'countersign_channel_checks_late_seconds',
        'Delay of the most overdue channel check',
        () => secondsLate({ db, now }),
      )
    },
    jobs: { [EXPIRE_CHANNEL]: expireChannel },
    timers: [
      { everyMs: WORK_MS, run: () => checks.run(), failure: 'a check failed' },
      { everyMs: WORK_MS, run: () => domains.run(), failure: 'a check of a domain failed' },
    ],
    // An aborted check is repeated later, while a lost network would count as a failed check.
    async close() {
      await Promise.all([checks.stop(), domains.stop()])
    },
  }
}
