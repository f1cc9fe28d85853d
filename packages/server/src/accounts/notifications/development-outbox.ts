import { composeEmail, type Email } from './compose-email.ts'
import type { NotificationDeps } from './email-addresses.ts'
import { deliveredEmails } from './outbox-table.ts'

const MAX_SHOWN = 50

/** The e-mails of the development outbox, newest first, as they would be sent now. Used verification links are left out. */
export async function developmentOutbox(deps: NotificationDeps): Promise<Email[]> {
  const emails: Email[] = []
  for (const row of await deliveredEmails(deps.db.read, MAX_SHOWN)) {
    const email = await composeEmail(deps, row)
    if (email !== null) emails.push(email)
  }
  return emails
}
