import { isLoopback } from '@countersign/protocol'
import type { MailSettings } from '../../base/config.ts'
import type { Email } from './compose-email.ts'

/** How an attempt to send an e-mail ended. */
export type SendResult =
  | { readonly outcome: 'sent' }
  /** `isPermanent`: the server rejects the recipient or the message. `isUnknown`: the server may have accepted it. */
  | {
      readonly outcome: 'failed'
      readonly isPermanent: boolean
      readonly isUnknown: boolean
      /** For the log: codes, and nothing that the server said. */
      readonly reason: string
    }

/** Sends e-mails. */
export interface Mailer {
  /** @param signal ends the attempt. Never rejects */
  send(email: Email, signal: AbortSignal): Promise<SendResult>
}

const CONNECT_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 20_000
const MAX_RESPONSE_BYTES = 16 * 1024

/** Sends e-mails through an SMTP server, each on a connection of its own. @param serviceName the name of the sender */
export function smtpMailer(
  { server, from }: Extract<MailSettings, { kind: 'smtp' }>,
  serviceName: string,
): Mailer {
  const { host, port, secure, auth } = server
  const isLocal = isLoopback(host)
  return {
    async send(email, signal) {
      // With the last byte, the server may have accepted the message, whether or not it says so.
      let isTransmitted = false
      // Loaded for the first e-mail only: many services send none.
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({
        host,
        port,
        secure,
        ...(auth !== null && { auth }),
        // A password is never sent in plain text over a network.
        requireTLS: auth !== null && !secure && !isLocal,
        ignoreTLS: isLocal && !secure,
        connectionTimeout: CONNECT_TIMEOUT_MS,
        greetingTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: SILENCE_TIMEOUT_MS,
        maxResponseSize: MAX_RESPONSE_BYTES,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      transport.use('stream', ({ message }, done) => {
        message.processFunc((content) => content.once('end', () => (isTransmitted = true)))
        done()
      })
      const unsubscribe = email.unsubscribeUrl
      try {
        await transport.sendMail({
          from: { name: serviceName, address: from },
          to: { name: '', address: email.to },
          messageId: email.messageId,
          subject: email.subject,
          text: email.text,
          html: email.html,
          headers: {
            'Auto-Submitted': 'auto-generated',
            ...(unsubscribe !== null && {
              'List-Unsubscribe': { prepared: true, value: `<${unsubscribe}>` },
              'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
            }),
          },
          signal,
        })
        return { outcome: 'sent' }
      } catch (error) {
        return failureOf(error, isTransmitted)
      }
    },
  }
}

function failureOf(error: unknown, isTransmitted: boolean): SendResult {
  const { code, responseCode, command } = error as {
    code?: unknown
    responseCode?: unknown
    command?: unknown
  }
  const status = typeof responseCode === 'number' ? responseCode : null
  return {
    outcome: 'failed',
    // Rejected credentials and senders are the operator's to correct, and are tried again.
    isPermanent: status !== null && status >= 500 && (command === 'RCPT TO' || command === 'DATA'),
    isUnknown: isTransmitted && status === null,
    reason: `${typeof code === 'string' ? code : 'unknown'}${status === null ? '' : ` ${status}`}`,
  }
}
