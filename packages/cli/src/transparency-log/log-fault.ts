import { Failure, type FailureCode } from '@countersign/sdk/tool-support'

/** How a log breaks its promise. */
export type LogFaultCode = Extract<FailureCode, `LOG_${string}`>

/** A log breaks its promise. What shows it is kept (`LogStateFile.keepEvidence`). */
export class LogFault extends Failure {
  readonly evidence: Readonly<Record<string, unknown>>

  constructor(code: LogFaultCode, message: string, evidence: Readonly<Record<string, unknown>>) {
    super(code, message)
    this.evidence = { code, message, ...evidence }
  }
}
