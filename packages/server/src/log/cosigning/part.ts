import type { Part, PartDeps } from '../../http/part.ts'
import { type Refusal, Witness } from './witness.ts'
import { readWitnessLogs } from './witness-logs.ts'
import { witnessRoutes } from './witness-routes.ts'

/** As often as the log, so that a restored database is noticed before much is cosigned. */
const FOLLOW_MS = 500

/** The witness of other logs: nothing, unless WITNESS_LOGS names some. @throws SettingsError */
export async function openCosigning({ settings, db, site, now, log }: PartDeps): Promise<Part> {
  const logs = readWitnessLogs(settings)
  if (logs === null) return {}
  // Anybody can send a checkpoint with a proof that is wrong, but only the log can sign two trees of one size.
  const onRefusal = ({ kind, ...notes }: Refusal) =>
    kind === 'other_root'
      ? log.error(notes, 'a log that is witnessed has signed two trees of one size')
      : log.info(notes, 'a checkpoint of a log that is witnessed has no valid proof')
  const { dataDir } = settings
  const witness = new Witness({ db, dataDir, host: site.host, now, logs, onRefusal })
  await witness.run()
  return {
    routes: (app) => witnessRoutes(app, { site, witness }),
    gauges(metrics) {
      metrics.labelledCounter(
        'countersign_witness_answers_total',
        'Checkpoints of other logs that were sent to be cosigned, by outcome',
        () => witness.answers.counts,
      )
      metrics.gauge(
        'countersign_witness_halted',
        'Whether no checkpoints of other logs are cosigned: the database is behind what was cosigned',
        () => Number(witness.problem !== null),
      )
    },
    timers: [
      {
        everyMs: FOLLOW_MS,
        run: () => witness.run(),
        failure: 'the state of the witness cannot be read',
      },
    ],
    readiness: () => ({
      witness: { state: witness.problem === null ? 'ok' : 'halted', problem: witness.problem },
    }),
  }
}
