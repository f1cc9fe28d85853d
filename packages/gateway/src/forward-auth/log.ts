import type { Decision } from '../decision/decision.ts'
import type { DecidedRequest } from '../options.ts'
import type { LogLevel } from './config.ts'

/** Writes lines of JSON. */
export interface Log {
  level: LogLevel
  (level: Exclude<LogLevel, 'silent'>, event: string, facts?: object): void
}

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

export function openLog(level: LogLevel, write: (line: string) => void): Log {
  const log: Log = Object.assign(
    (each: LogLevel, event: string, facts: object = {}) => {
      if (ORDER.indexOf(each) < ORDER.indexOf(log.level)) return
      const time = new Date().toISOString()
      write(`${JSON.stringify({ time, level: each, event, ...facts })}\n`)
    },
    { level },
  )
  return log
}

/** The line of a decision: everything that explains it, nothing of the request that could be a secret. */
export function logDecision(log: Log, decision: Decision, { method, path }: DecidedRequest): void {
  const { action, admitted, mode, level, did, status, identityLevel, grade } = decision
  const { source, proofOfPossession, refusal, reasons } = decision
  log(action === 'deny' ? 'warn' : 'info', 'decision', {
    action,
    admitted,
    mode,
    agentLevel: level,
    did,
    status,
    identityLevel,
    grade,
    source,
    proofOfPossession,
    refusal: refusal?.status ?? null,
    reasons: reasons.map(({ code }) => code),
    method,
    path,
  })
}
