import { type PartDeps, WORK_MS } from '../../http/part.ts'
import type { OwnersPart } from '../owners/owner-routes.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { notificationRoutes } from './notification-routes.ts'
import { DueEmails, describeQueue } from './send-due-emails.ts'
import { smtpMailer } from './smtp-mailer.ts'
import { ExpiryWarnings } from './warn-of-expiry.ts'

/** Notifications of owners, and the e-mails that carry them unless the service sends none. */
export function openNotifications(context: PartDeps & OwnerDeps): OwnersPart {
  const { settings, log, db, now } = context
  const { mail } = settings
  const deps = { ...context, mailDelivery: mail?.kind ?? null }
  const warnings = new ExpiryWarnings({ db, now })
  const notifications: OwnersPart = {
    ownerRoutes: (app, owners) => notificationRoutes(app, { ...owners, deps }),
    timers: [{ everyMs: WORK_MS, run: () => warnings.run(), failure: 'warnings failed' }],
  }
  if (mail === null) return notifications
  const mailer = mail.kind === 'smtp' ? smtpMailer(mail, settings.serviceName) : null
  const failure = 'an e-mail was not sent'
  const emails = new DueEmails({ ...context, mailer }, (err) => log.warn({ err }, failure))
  return {
    ...notifications,
    timers: [
      ...(notifications.timers ?? []),
      { everyMs: WORK_MS, run: () => emails.run(), failure },
    ],
    gauges(metrics) {
      metrics.gauge(
        'countersign_emails_queued',
        'E-mails that are not sent yet',
        async () => (await describeQueue({ db, now })).count,
      )
      metrics.gauge(
        'countersign_emails_oldest_seconds',
        'Age of the oldest e-mail that is not sent yet',
        async () => (await describeQueue({ db, now })).age,
      )
      metrics.labelledCounter(
        'countersign_emails_total',
        'Attempts to send an e-mail, by outcome',
        () => emails.outcomes,
      )
    },
    close: () => emails.stop(),
  }
}
