import type { Decision } from '../decision/decision.ts'
import type { DecidedRequest } from '../options.ts'
import type { LogLevel } from './config.ts'

/** Writes each entry as one line of JSON. */
export interface Log {
  level: LogLevel
  (level: Exclude<LogLevel, 'silent'>, event: string, fields?: object): void
}

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

export function openLog(level: LogLevel, write: (line: string) => void): Log {
  const log: Log = Object.assign(
    (entryLevel: LogLevel, event: string, fields: object = {}) => {
      if (ORDER.indexOf(entryLevel) < ORDER.indexOf(log.level)) return
      const time = new Date().toISOString()
      write(`${JSON.stringify({ time, level: entryLevel, event, ...fields })}\n`)
    },
    { level },
  )
  return log
}

/** Logs what explains a decision. Leaves out the parts of the request that may contain secrets. */
export function logDecision(log: Log, decision: Decision, { method, path }: DecidedRequest): void {
  const { action, admitted, mode, level, did, status, identityLevel, grade } = decision
  const {
    issuer,
    source,
    statusAgeSeconds,
    proof,
    proofOfPossession,
    signature,
    directory,
    delegation,
    approval,
    refusal,
    reasons,
  } = decision
  log(action === 'deny' ? 'warn' : 'info', 'decision', {
    action,
    admitted,
    mode,
    agentLevel: level,
    did,
    status,
    identityLevel,
    grade,
    issuer,
    source,
    statusAgeSeconds,
    proof,
    proofOfPossession,
    signature: signature && (signature.reason ?? signature.verdict),
    keyid: signature?.keyid ?? null,
    signatureAgent: signature?.signatureAgent ?? null,
    replay: signature?.replay ?? null,
    digest: signature?.digest ?? null,
    directory,
    delegation,
    approval: approval?.id ?? null,
    refusal: refusal?.status ?? null,
    reasons: reasons.map(({ code }) => code),
    method,
    path,
  })
}
