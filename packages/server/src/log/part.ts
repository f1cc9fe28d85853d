import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import type { OwnerDeps } from '../accounts/providers/providers.ts'
import type { ClaimLog } from '../agents/claims/mint.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import type { MetricRegistrar } from '../http/metrics/metric-registrar.ts'
import { type PartDeps, type PartTimer, WORK_MS } from '../http/part.ts'
import { openServiceKey } from '../secrets/service-keys.ts'
import { logRoutes, openingRoutes } from './log-routes.ts'
import { LoggedKeys } from './read-log.ts'
import { reportLog } from './report-log.ts'
import { TransparencyLog } from './transparency-log.ts'
import { DailyCheck } from './verify-stored.ts'
import { LogWitnesses, type WitnessReport } from './witnesses/log-witnesses.ts'
import { readWitnesses } from './witnesses/witness-policy.ts'

/** A checkpoint is at most a second old while there is something new. */
const LOG_MS = 500
/** Between two steps of the daily check. */
const CHECK_MS = 200

export interface LogPart extends OwnersPart {
  readonly loggedKeys: LoggedKeys
  readonly claims: ClaimLog
}

/** The transparency log, with witnesses if WITNESSES names some. @throws SettingsError */
export async function openLog(context: PartDeps & ReadDeps & OwnerDeps): Promise<LogPart> {
  const { settings, db, site, now, sender, elapsed } = context
  const { dataDir, requireWitness: isRequired } = settings
  const policy = readWitnesses(settings)
  const witnesses = policy && new LogWitnesses({ db, policy, isRequired, sender, now })
  const key = await openServiceKey({ db, folders: settings }, 'log')
  const { host, naming } = site
  const log = new TransparencyLog({ ...context, dataDir, key, naming, host, witnesses })
  const daily = new DailyCheck(db.read, elapsed)
  const checking: PartTimer = {
    everyMs: CHECK_MS,
    run: () => daily.step(),
    failure: 'the stored transparency log is not the one that was signed, or cannot be read',
  }
  const logging: PartTimer = {
    everyMs: LOG_MS,
    run: (stopping) => log.run(stopping),
    failure: 'the transparency log cannot go on',
  }
  return {
    loggedKeys: new LoggedKeys({ db, log }),
    claims: log.claims,
    routes: (app) => logRoutes(app, { ...context, log }),
    ownerRoutes: (app, owners) => openingRoutes(app, { ...owners, deps: context }),
    gauges(metrics) {
      metrics.gauge(
        'countersign_log_size',
        'Entries under the checkpoint of the transparency log',
        () => log.served?.size ?? 0,
      )
      metrics.gauge('countersign_log_waiting', 'Changes that wait for their place in the log', () =>
        log.countDue(),
      )
      metrics.gauge(
        'countersign_log_halted',
        'Whether the transparency log is neither signed nor served: its data are not those that were signed',
        () => Number(log.problem !== null),
      )
      metrics.gauge(
        'countersign_log_damaged',
        'Whether the last check of the stored transparency log has found a difference',
        () => Number(daily.fault !== null),
      )
      metrics.gauge(
        'countersign_log_check_age_seconds',
        'Time since a check of the whole stored transparency log has ended, or since the start',
        () => daily.age,
      )
      if (witnesses !== null) describeWitnesses(metrics, witnesses, now)
    },
    timers: [logging, checking, ...(witnesses === null ? [] : [asking(witnesses, log)])],
    readiness: () => ({ log: reportLog(log, witnesses) }),
  }
}

/** Apart from the log, which goes on while a witness takes its time. */
function asking(witnesses: LogWitnesses, log: TransparencyLog): PartTimer {
  return {
    everyMs: WORK_MS,
    run: (stopping) => witnesses.run(log, stopping),
    failure: 'the witnesses cannot be asked',
  }
}

function describeWitnesses(
  metrics: MetricRegistrar,
  witnesses: LogWitnesses,
  now: () => number,
): void {
  metrics.gauge(
    'countersign_log_unwitnessed_seconds',
    'How long a signed checkpoint has been waiting for the cosignatures of the quorum',
    () => Math.max(0, now() - (witnesses.waitingSince ?? now())) / 1000,
  )
  const gauge = (name: string, help: string, read: (each: WitnessReport) => number) =>
    metrics.labelledGauge(`countersign_log_witness_${name}`, help, ['witness'], () =>
      witnesses.reports.map((each) => [{ witness: each.name }, read(each)] as const),
    )
  gauge('lag', 'Entries of the log that a witness has not cosigned', ({ lag }) => lag)
  gauge('failures', 'Failures of a witness since it has cosigned', ({ failures }) => failures)
  gauge('refuses', 'Whether a witness has cosigned entries that the log does not have', (each) =>
    Number(each.problem !== null),
  )
}
