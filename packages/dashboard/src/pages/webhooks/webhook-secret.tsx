import type { CreatedWebhook } from '@countersign/protocol'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'

/** Of every format but Security Event Tokens, which the keys of the service sign. */
export type WebhookWithSecret = CreatedWebhook & { readonly secret: string }

interface WebhookSecretProps {
  readonly title: string
  readonly webhook: WebhookWithSecret
  readonly onDone: () => void
}

/** Shows a new secret, once. */
export function WebhookSecret({ title, webhook, onDone }: WebhookSecretProps) {
  const { secret, publicKey, previousSecretUntil } = webhook
  return (
    <Page title={title} step="secret" lead="Store the secret before you continue.">
      <Section title="Verify deliveries">
        <CopyField label="Secret (v1, HMAC)" value={secret} />
        <Note tone="warn">
          It is shown this once. Anyone who has it can forge deliveries to this endpoint.
        </Note>
        {previousSecretUntil !== null && (
          <p>
            Deliveries are signed with the previous secret too until{' '}
            <DateTime at={previousSecretUntil} as="minute" />.
          </p>
        )}
        <CopyField label="Public key (v1a, Ed25519)" value={publicKey} />
        <p className="text-soft">
          Each delivery has both signatures. Check one of them:{' '}
          <a href="/docs/webhooks" className="underline">
            code for TypeScript and Python
          </a>
          .
        </p>
        <Button variant="primary" className="self-start" onClick={onDone}>
          I have stored it
        </Button>
      </Section>
    </Page>
  )
}
