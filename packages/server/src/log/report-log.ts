import type { LogReport } from '@countersign/protocol'
import type { TransparencyLog } from './transparency-log.ts'

/** The state of the log on this node, for `/readyz`. */
export function reportLog({
  served,
  problem,
}: Pick<TransparencyLog, 'served' | 'problem'>): LogReport {
  if (problem !== null) return { state: 'halted', size: 0, problem }
  return { state: served === null ? 'starting' : 'ok', size: served?.size ?? 0, problem }
}
