import { createHash } from 'node:crypto'
import { formatVerifierKey, type LogPolicy, type NoteKey } from '@countersign/protocol'
import { codeOf, describeError, Failure } from '@countersign/sdk/tool-support'
import { exitCodeOf } from '../exit-code.ts'
import type { Invocation } from '../invocation.ts'
import { LogFault } from './log-fault.ts'
import type { LogSource } from './log-source.ts'
import type { LogStateFile } from './log-state.ts'
import { type Alert, OwnerMonitor } from './owner-monitor.ts'
import { type VerifiedLog, verifyLog } from './verify-log.ts'

/** A log that cannot be read for so long may be withheld from its watchers. */
const UNAVAILABLE_AFTER_MS = 15 * 60_000
const WEBHOOK_TIMEOUT_MS = 10_000

export interface WatchOptions {
  readonly source: LogSource
  readonly file: LogStateFile
  readonly key: NoteKey | null
  readonly policy: LogPolicy | null
  readonly dids: readonly string[]
  /** Thumbprints. */
  readonly ownKeys: readonly string[]
  readonly webhook: URL
}

/** What a round of the monitor has found. */
export interface WatchedRound {
  readonly verified: VerifiedLog
  /** Alerts that were delivered in this round. */
  readonly alerts: readonly Alert[]
}

/** An owner's monitor: verifies what is new in the log, and posts what is wrong to a webhook. */
export class LogWatch {
  readonly #options: WatchOptions
  readonly #cli: Invocation
  #failingSince: number | null = null
  #saidUnavailable = false
  /** Alerts about the log that this process has delivered. */
  readonly #delivered = new Set<string>()

  constructor(options: WatchOptions, cli: Invocation) {
    this.#options = options
    this.#cli = cli
  }

  /**
   * One round. Alerts are saved before they are sent, and sent again until the webhook answers with 2xx.
   * @throws LogFault, which was posted; Failure as `verifyLog`, and NO_ANSWER if the webhook does not accept an alert
   */
  async round(): Promise<WatchedRound> {
    try {
      const verified = await this.#verify()
      this.#failingSince = null
      this.#saidUnavailable = false
      const alerts = await this.#deliverSaved()
      for (const { message, evidence } of verified.violations) {
        const alert = faultAlert(verified.checkpoint.origin, 'LOG_ENTRY_INVALID', message, evidence)
        if (await this.#deliverOnce(alert)) alerts.push(alert)
      }
      return { verified, alerts }
    } catch (error) {
      await this.#report(error)
      throw error
    }
  }

  async #verify(): Promise<VerifiedLog> {
    const { source, file, key, policy, dids, ownKeys } = this.#options
    const state = file.read()
    if (state !== null && state.watch === null) {
      throw new Failure('USAGE', `${file.path} is the state of log verify. Choose another file.`)
    }
    const before = state?.watch ?? null
    const isNew = dids.some((did) => before?.keys[did] === undefined)
    if (state !== null && isNew) this.#cli.log('An agent is new: the whole log is verified again.')
    const watcher = new OwnerMonitor({
      origin: source.prefix,
      dids,
      ownKeys,
      before,
      seenBelow: state?.frontier.size ?? 0,
      onLearned: (did, thumbprint) =>
        this.#cli.warn(
          `No key of yours was given (--own-key). The first key of ${did} in the log is trusted: ${thumbprint}. Compare it with the keyThumbprint of your agent.`,
        ),
    })
    const verified = await verifyLog({
      source,
      file,
      key,
      policy,
      watcher,
      all: state !== null && isNew,
    })
    if (state === null && verified.keyOrigin === 'learned') {
      this.#cli.warn(learnedWarning(formatVerifierKey(verified.key)))
    }
    return verified
  }

  async #deliverSaved(): Promise<Alert[]> {
    const { file } = this.#options
    const delivered: Alert[] = []
    for (;;) {
      const state = file.read()
      const [next, ...rest] = (state?.watch?.alerts ?? []) as Alert[]
      if (state?.watch == null || next === undefined) return delivered
      await this.#post(next)
      await file.write({ ...state, watch: { ...state.watch, alerts: rest } })
      delivered.push(next)
    }
  }

  /** Posts why a round failed, once. */
  async #report(error: unknown): Promise<void> {
    const { file, source } = this.#options
    if (error instanceof LogFault) {
      const path = await file.keepEvidence(error.evidence)
      await this.#deliverOnce(faultAlert(source.prefix, error.code, error.message, path))
      return
    }
    // The webhook itself does not answer.
    if (error instanceof WebhookFailure) return
    const now = this.#cli.io.now()
    this.#failingSince ??= now
    if (this.#saidUnavailable || now - this.#failingSince < UNAVAILABLE_AFTER_MS) return
    const { message } = describeError(error)
    await this.#deliverOnce({
      id: `unavailable-${this.#failingSince}`,
      type: 'log.unavailable',
      text: `The transparency log ${source.prefix} cannot be verified since ${new Date(this.#failingSince).toISOString()}: ${message}`,
      origin: source.prefix,
      code: codeOf(error),
    })
    this.#saidUnavailable = true
  }

  /** @returns whether it was delivered now */
  async #deliverOnce(alert: Alert): Promise<boolean> {
    if (this.#delivered.has(alert.id)) return false
    await this.#post(alert)
    this.#delivered.add(alert.id)
    return true
  }

  async #post(alert: Alert): Promise<void> {
    const { webhook } = this.#options
    let status = 0
    try {
      const response = await this.#cli.io.fetch(webhook, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(alert),
        redirect: 'error',
        signal: AbortSignal.timeout(WEBHOOK_TIMEOUT_MS),
      })
      await response.body?.cancel()
      status = response.status
    } catch (cause) {
      throw new WebhookFailure(webhook, 'does not answer', { cause })
    }
    if (status < 200 || status > 299) throw new WebhookFailure(webhook, `answers with ${status}`)
  }
}

/** The message does not have the path of the webhook, which is often a secret. */
class WebhookFailure extends Failure {
  constructor(webhook: URL, what: string, options?: ErrorOptions) {
    const message = `The webhook at ${webhook.origin} ${what}. The alert is kept and sent again.`
    super('NO_ANSWER', message, options)
  }
}

function faultAlert(origin: string, code: string, message: string, evidence: string): Alert {
  const id = createHash('sha256').update(`${code}\n${evidence}`).digest('base64url')
  const text = `${message} Do not rely on this log before its operator has explained it. The evidence is in ${evidence} on the machine of the monitor.`
  return { id, type: 'log.fault', text, origin, code, message, evidence }
}

/** Said once, when the key of a log is trusted because the log itself names it. */
export function learnedWarning(verifierKey: string): string {
  return `No key of the log was given (--log-key). The one that the log names is trusted from now on: ${verifierKey} Compare it with a copy from somewhere else.`
}

/** Whether a round may succeed later without a change by the user. */
export function isTemporary(error: unknown): boolean {
  return exitCodeOf(error) === 5 || error instanceof LogFault
}
