import type { EmailAddress, EmailSettings } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { CheckField, TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { emailQuery } from '../notifications/queries.ts'

const LEAD =
  organisation === null
    ? 'Notifications are sent to your verified addresses. The page “Notifications” always shows all of them.'
    : 'Notifications are sent to the verified addresses of the organisation, and to its managers and admins. The page “Notifications” always shows all of them.'

export function EmailSection() {
  const { data, error, refetch } = useQuery(emailQuery)
  const mayChange = useMay()('admin')
  return (
    <SheetSection title="E-mail" lead={LEAD}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {data !== undefined && !data.available && <p>This service does not send e-mail.</p>}
      {data?.development && (
        <p>
          This deployment is for development. Its e-mails are shown in the{' '}
          <a href="/development/mail" className="text-accent underline underline-offset-4">
            development outbox
          </a>
          .
        </p>
      )}
      {data !== undefined && data.addresses.length > 0 && (
        <ul className="flex flex-col divide-y divide-line">
          {data.addresses.map((each) => (
            <AddressItem key={each.id} address={each} />
          ))}
        </ul>
      )}
      {data?.available && mayChange && <NewAddress />}
      {data?.available && <Preferences settings={data} />}
    </SheetSection>
  )
}

function NewAddress() {
  const [address, setAddress] = useState('')
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const add = useAction(async () => {
    const body = { address: address.trim() }
    const settings = await withRecentSignIn(() =>
      send<EmailSettings>('POST', '/api/account/email/addresses', body),
    )
    queries.setQueryData(emailQuery.queryKey, settings)
    setAddress('')
    toast('Open the link in the e-mail, and press the button on the page.')
  })
  return (
    <form noValidate onSubmit={submitHandler(add.run)} className="flex flex-col items-start gap-4">
      <TextField
        label="Add an address"
        hint="You get an e-mail with a link that verifies it."
        type="email"
        value={address}
        onChange={(event) => setAddress(event.target.value)}
        autoComplete="email"
        maxLength={254}
      />
      <ErrorNote error={add.error} />
      <Button type="submit" pending={add.pending} disabled={address.trim() === ''}>
        Send the link
      </Button>
    </form>
  )
}

function AddressItem({ address: { id, address, verifiedAt } }: { readonly address: EmailAddress }) {
  const mayChange = useMay()('admin')
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const path = `/api/account/email/addresses/${encodeURIComponent(id)}`
  const remove = useAction(async () => {
    await withRecentSignIn(() => send('DELETE', path))
    await queries.invalidateQueries(emailQuery)
    toast('The address is removed.')
  })
  const resend = useAction(async () => {
    await send('POST', `${path}/link`)
    toast('Another link is sent.')
  })
  return (
    <li className="flex flex-col gap-3 py-4 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <p className="wrap-anywhere font-medium">{address}</p>
          <p className="text-soft text-sm">
            {verifiedAt === null ? 'Pending. Open the link in the e-mail.' : 'Verified'}
          </p>
        </div>
        {mayChange && (
          <div className="flex flex-wrap gap-3">
            {verifiedAt === null && (
              <Button size="small" pending={resend.pending} onClick={() => resend.run()}>
                Send another link
              </Button>
            )}
            <Button
              size="small"
              aria-label={`Remove ${address}`}
              pending={remove.pending}
              onClick={() => remove.run()}
            >
              Remove
            </Button>
          </div>
        )}
      </div>
      <ErrorNote error={remove.error ?? resend.error} />
    </li>
  )
}

function Preferences({ settings }: { readonly settings: EmailSettings }) {
  const mayChange = useMay()('admin')
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const change = useAction(async (kind: string, enabled: boolean) => {
    const saved = await withRecentSignIn(() =>
      send<EmailSettings>('PATCH', '/api/account/email/preferences', { kind, enabled }),
    )
    queries.setQueryData(emailQuery.queryKey, saved)
  })
  const group = (security: boolean) => (
    <div className="grid gap-x-6 @2xl:grid-cols-2">
      {settings.preferences
        .filter((each) => each.security === security)
        .map(({ kind, label, enabled }) => (
          <CheckField
            key={kind}
            label={label}
            checked={enabled}
            disabled={!mayChange}
            onChange={(event) => change.run(kind, event.target.checked)}
          />
        ))}
    </div>
  )
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 font-medium">Send by e-mail</legend>
      {group(false)}
      <p className="text-soft text-sm">
        Security notifications.{mayChange && ' To turn one off, confirm your sign-in.'}
      </p>
      {group(true)}
      <ErrorNote error={change.error} />
    </fieldset>
  )
}
