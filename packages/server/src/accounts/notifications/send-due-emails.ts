import { WorkLoop } from '../../database/jobs/work-loop.ts'
import type { EmailOutboxRow } from '../../database/schema/notification-rows.ts'
import { OutcomeCounter } from '../../http/metrics/outcome-counter.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { composeEmail, isInvitation } from './compose-email.ts'
import { domainOf } from './email-addresses.ts'
import { appendNotification } from './notify-owner.ts'
import {
  deleteEmail,
  deleteEmailsBefore,
  dueEmails,
  leaseEmail,
  releaseEmail,
  summarizeQueue,
} from './outbox-table.ts'
import type { Mailer, SendResult } from './smtp-mailer.ts'

/** How many e-mails are sent at once. */
const AT_ONCE = 2
/** The time limit of an attempt, however slowly the server answers. */
const SEND_TIMEOUT_MS = 60_000
/** Longer than any attempt, so that a lease only times out if its node died. */
const LEASE_MS = 3 * SEND_TIMEOUT_MS
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 6 * 3_600_000
/** After this time, an e-mail is given up. */
const GIVE_UP_MS = 4 * 86_400_000
/** An e-mail is sent at most twice if nobody knows whether the first attempt succeeded. */
const MAX_INTERRUPTIONS = 1
const MAX_COUNT = 1000

export interface EmailDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'serviceName' | 'pepper' | 'now' | 'randomBytes'> {
  /** Null: e-mails stay in the development outbox, where a page shows them. */
  readonly mailer: Mailer | null
}

/** `dropped`: no longer to be sent. `gave_up`: rejected, or not accepted for days. */
type EmailOutcome = 'sent' | 'failed' | 'gave_up' | 'dropped'

/** Sends queued e-mails, a few at a time. Several nodes on one database share the work through leases. */
export class DueEmails {
  readonly #deps: EmailDeps
  readonly #report: (error: unknown) => void
  readonly #outcomes = new OutcomeCounter(['sent', 'failed', 'gave_up', 'dropped'])
  readonly #loop: WorkLoop

  /** @param report is called with errors, which contain no address and no text of the SMTP server */
  constructor(deps: EmailDeps, report: (error: unknown) => void) {
    this.#deps = deps
    this.#report = report
    this.#loop = new WorkLoop({
      poll: () => this.#startDue(),
      concurrency: AT_ONCE,
      onError: report,
    })
  }

  /** The number of attempts by how they ended. */
  get outcomes(): ReadonlyMap<string, number> {
    return this.#outcomes.counts
  }

  /** Starts to send what is due, as much as may be in progress at once. Resolves when it is started. */
  run(): Promise<void> {
    return this.#loop.run()
  }

  /** Starts no further attempt and aborts those in progress. Afterwards nothing uses the database. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #startDue(): Promise<void> {
    if (this.#loop.isFull) return
    for (const row of await dueEmails(this.#deps.db.read, this.#deps.now(), AT_ONCE))
      this.#loop.start(row.id, (stopped) => this.#attempt(row.id, stopped))
  }

  /** @returns whether to poll again at once */
  async #attempt(id: string, stopped: AbortSignal): Promise<boolean> {
    try {
      const outcome = await sendEmail(this.#deps, id, stopped, this.#report)
      if (outcome !== null) this.#outcomes.add(outcome)
      return outcome !== null
    } catch (error) {
      this.#report(error)
      return false
    }
  }
}

/** The number of e-mails that are not sent yet, at most 1,000, and the age of the oldest in seconds (0 if there is none). */
export async function describeQueue({
  db,
  now,
}: Pick<EmailDeps, 'db' | 'now'>): Promise<{ readonly count: number; readonly age: number }> {
  const { count, oldest } = await summarizeQueue(db.read, MAX_COUNT)
  return { count, age: oldest === null ? 0 : Math.max(0, now() - oldest) / 1000 }
}

/** @returns null if the e-mail is taken, or the attempt was aborted */
async function sendEmail(
  deps: EmailDeps,
  id: string,
  stopped: AbortSignal,
  report: (error: unknown) => void,
): Promise<EmailOutcome | null> {
  const { db, now, mailer } = deps
  const leased_by = Buffer.from(deps.randomBytes(12)).toString('base64url')
  const terms = { now: now(), until: now() + LEASE_MS }
  const row = await db.write((tx) => leaseEmail(tx, { id, leased_by }, terms))
  if (row === undefined) return null
  const email = await composeEmail(deps, row)
  if (email === null) {
    await db.write((tx) => deleteEmail(tx, row))
    return 'dropped'
  }
  if (row.interruptions > MAX_INTERRUPTIONS || now() - row.created_at > GIVE_UP_MS) {
    await giveUp(deps, row)
    return 'gave_up'
  }
  if (mailer === null) {
    await db.write((tx) => deliverToOutbox(tx, row, now()))
    return 'sent'
  }
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(SEND_TIMEOUT_MS)])
  const result = await mailer.send(email, signal)
  return recordResult(deps, row, result, { stopped, report })
}

async function recordResult(
  deps: EmailDeps,
  row: EmailOutboxRow,
  result: SendResult,
  { stopped, report }: { readonly stopped: AbortSignal; readonly report: (error: unknown) => void },
): Promise<EmailOutcome | null> {
  const { db, now } = deps
  if (result.outcome === 'sent') {
    await db.write((tx) => deleteEmail(tx, row))
    return 'sent'
  }
  const { isPermanent, isUnknown, reason } = result
  const interruptions = row.interruptions + (isUnknown ? 1 : 0)
  if (stopped.aborted) {
    await db.write((tx) => releaseEmail(tx, row, { interruptions }))
    return null
  }
  report(new Error(`An e-mail was not accepted: ${reason}`))
  if (isPermanent || interruptions > MAX_INTERRUPTIONS) {
    await giveUp(deps, row)
    return 'gave_up'
  }
  const pause = Math.min(FIRST_RETRY_MS * 2 ** row.attempts, MAX_RETRY_MS)
  const change = { due_at: now() + pause, attempts: row.attempts + 1, interruptions }
  await db.write((tx) => releaseEmail(tx, row, change))
  return 'failed'
}

/** Deletes an e-mail that cannot be delivered, and tells the owner of the address so in the dashboard, once a day for each address. */
async function giveUp({ db, now }: EmailDeps, row: EmailOutboxRow): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteEmail(tx, row)) || isInvitation(row)) return
    const at = now()
    await appendNotification(tx, {
      ownerId: row.owner_id,
      kind: 'email_undeliverable',
      subject: `${row.address_id}:${Math.floor(at / 86_400_000)}`,
      details: { domain: domainOf(row.address) },
      at,
      isInAppOnly: true,
    })
  })
}

/** Moves an e-mail to the development outbox. */
async function deliverToOutbox(
  tx: Parameters<typeof releaseEmail>[0],
  row: EmailOutboxRow,
  at: number,
): Promise<void> {
  await releaseEmail(tx, row, { due_at: null })
  await deleteEmailsBefore(tx, at - GIVE_UP_MS)
}
