import {
  MAX_WEBHOOK_URL_LENGTH,
  type NewWebhook,
  SET_EVENT_TYPES,
  WEBHOOK_EVENT_TYPES,
  WEBHOOK_FORMATS,
  type Webhook,
  type WebhookEventType,
  type WebhookFormat,
} from '@countersign/protocol'
import { Fragment, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField, SelectField, TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'

const MAX_AUDIENCE_LENGTH = 300
const MAX_AUTHORIZATION_LENGTH = 1000

/** What people call each format. */
export const FORMAT_LABELS: Readonly<Record<WebhookFormat, string>> = {
  standard: 'Standard Webhooks',
  ocsf: 'OCSF 1.8.0, for security tools',
  set: 'Security Event Tokens (RFC 8935)',
}

interface WebhookDialogProps {
  readonly title: string
  readonly action: string
  /** The current settings of an endpoint that exists. */
  readonly current?: Webhook
  readonly onClose: () => void
  /** @param choice `authorization` is absent if it stays as it is */
  readonly onSubmit: (choice: NewWebhook) => Promise<unknown>
}

/** Asks for the URL, the format and the types of events of an endpoint. */
export function WebhookDialog({ title, action, current, onClose, onSubmit }: WebhookDialogProps) {
  const [url, setUrl] = useState(current?.url ?? '')
  const [format, setFormat] = useState<WebhookFormat>(current?.format ?? 'standard')
  const [audience, setAudience] = useState(current?.audience ?? '')
  const [authorization, setAuthorization] = useState('')
  const [isRemoving, setRemoving] = useState(false)
  const [isAll, setAll] = useState((current?.eventTypes ?? null) === null)
  const [types, setTypes] = useState<ReadonlySet<WebhookEventType>>(
    new Set(current?.eventTypes ?? WEBHOOK_EVENT_TYPES),
  )
  const offered: readonly WebhookEventType[] =
    format === 'set' ? SET_EVENT_TYPES : WEBHOOK_EVENT_TYPES
  const chosen = offered.filter((type) => types.has(type))
  const hasStored = current?.hasAuthorization === true
  const submit = useAction(() =>
    onSubmit({
      url: url.trim(),
      format,
      eventTypes: isAll ? null : chosen,
      ...(format === 'set' && { audience: audience.trim() || null }),
      ...(format !== 'standard' && authorization !== '' && { authorization: authorization.trim() }),
      ...(isRemoving && { authorization: null }),
    }),
  )

  function toggle(type: WebhookEventType, isOn: boolean) {
    const changed = new Set(types)
    if (isOn) changed.add(type)
    else changed.delete(type)
    setTypes(changed)
  }

  return (
    <Dialog open onClose={onClose} title={title}>
      <form onSubmit={submitHandler(submit.run)} className="flex flex-col gap-4">
        <TextField
          label="URL"
          type="url"
          hint="An https address on port 443 that anyone on the internet can reach."
          placeholder="https://example.com/webhooks"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
          maxLength={MAX_WEBHOOK_URL_LENGTH}
          autoComplete="off"
          required
        />
        {current === undefined && (
          <SelectField
            label="Format"
            hint="You cannot change it later."
            value={format}
            onChange={(event) => setFormat(event.target.value as WebhookFormat)}
          >
            {WEBHOOK_FORMATS.map((each) => (
              <option key={each} value={each}>
                {FORMAT_LABELS[each]}
              </option>
            ))}
          </SelectField>
        )}
        {format === 'set' && (
          <TextField
            label="Audience"
            hint="The claim aud of the tokens. If you leave it empty, it is the URL."
            value={audience}
            onChange={(event) => setAudience(event.target.value)}
            maxLength={MAX_AUDIENCE_LENGTH}
            autoComplete="off"
          />
        )}
        {format !== 'standard' && (
          <TextField
            label="Authorization header"
            type="password"
            hint={
              hasStored
                ? 'A value is stored. Enter another one to replace it. A new URL removes it.'
                : 'Optional, such as “Bearer …” or “Splunk …”. It is sent with each delivery and not shown again.'
            }
            value={authorization}
            onChange={(event) => setAuthorization(event.target.value)}
            maxLength={MAX_AUTHORIZATION_LENGTH}
            autoComplete="off"
            disabled={isRemoving}
          />
        )}
        {hasStored && (
          <CheckField
            label="Remove the stored value"
            checked={isRemoving}
            onChange={(event) => setRemoving(event.target.checked)}
          />
        )}
        <fieldset className="flex flex-col">
          <legend className="mb-1 font-medium">Events</legend>
          <CheckField
            label="All types, also those of later releases"
            checked={isAll}
            onChange={(event) => setAll(event.target.checked)}
          />
          {!isAll && (
            <div className="grid rounded-lg border border-line px-3 sm:grid-cols-2">
              {offered.map((type) => (
                <CheckField
                  key={type}
                  label={<TypeName type={type} />}
                  checked={types.has(type)}
                  onChange={(event) => toggle(type, event.target.checked)}
                />
              ))}
            </div>
          )}
        </fieldset>
        <ErrorNote error={submit.error} />
        <DialogActions>
          <Button
            type="submit"
            variant="primary"
            pending={submit.pending}
            disabled={!isAll && chosen.length === 0}
          >
            {action}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

/** Long names break after a full stop or an underscore. */
function TypeName({ type }: { readonly type: WebhookEventType }) {
  return (
    <code className="text-sm">
      {type.split(/(?<=[._])/).map((part) => (
        <Fragment key={part}>
          <wbr />
          {part}
        </Fragment>
      ))}
    </code>
  )
}
