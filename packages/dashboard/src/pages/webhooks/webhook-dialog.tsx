import {
  MAX_WEBHOOK_URL_LENGTH,
  WEBHOOK_EVENT_TYPES,
  type WebhookEventType,
} from '@countersign/protocol'
import { Fragment, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField, TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'

/** What an owner chooses for an endpoint. */
export interface WebhookChoice {
  readonly url: string
  /** Null: all types. */
  readonly eventTypes: WebhookEventType[] | null
}

interface WebhookDialogProps {
  readonly title: string
  readonly action: string
  /** The current settings of an endpoint that exists. */
  readonly current?: WebhookChoice
  readonly onClose: () => void
  readonly onSubmit: (choice: WebhookChoice) => Promise<unknown>
}

/** Asks for the URL and the types of events of an endpoint. */
export function WebhookDialog({ title, action, current, onClose, onSubmit }: WebhookDialogProps) {
  const [url, setUrl] = useState(current?.url ?? '')
  const [isAll, setAll] = useState((current?.eventTypes ?? null) === null)
  const [types, setTypes] = useState<ReadonlySet<WebhookEventType>>(
    new Set(current?.eventTypes ?? WEBHOOK_EVENT_TYPES),
  )
  const submit = useAction(() =>
    onSubmit({
      url: url.trim(),
      eventTypes: isAll ? null : WEBHOOK_EVENT_TYPES.filter((type) => types.has(type)),
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
        <fieldset className="flex flex-col">
          <legend className="mb-1 font-medium">Events</legend>
          <CheckField
            label="All types, also those of later releases"
            checked={isAll}
            onChange={(event) => setAll(event.target.checked)}
          />
          {!isAll && (
            <div className="grid rounded-lg border border-line px-3 sm:grid-cols-2">
              {WEBHOOK_EVENT_TYPES.map((type) => (
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
            disabled={!isAll && types.size === 0}
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
