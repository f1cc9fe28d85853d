import type { LogReport } from '@countersign/protocol'
import type { TransparencyLog } from './transparency-log.ts'
import type { LogWitnesses, WitnessReport } from './witnesses/log-witnesses.ts'

/** The state of the log on this node, for `/readyz`. */
export function reportLog(
  { served, halted }: Pick<TransparencyLog, 'served' | 'halted'>,
  log: Pick<LogWitnesses, 'reports'> | null,
): LogReport {
  const witnesses = (log?.reports ?? []).map((each) => {
    const { name, size } = each
    return { name, size, state: stateOf(each) }
  })
  if (halted !== null) {
    const { code, message: problem } = halted
    return { state: 'halted', size: 0, code, problem, witnesses }
  }
  const state = served === null ? 'starting' : 'ok'
  return { state, size: served?.size ?? 0, code: null, problem: null, witnesses }
}

function stateOf({ problem, failure }: WitnessReport): 'ok' | 'failing' | 'refusing' {
  if (problem !== null) return 'refusing'
  return failure === null ? 'ok' : 'failing'
}
