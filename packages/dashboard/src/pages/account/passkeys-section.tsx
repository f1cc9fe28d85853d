import type { Account, Passkey } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { passkeysUnavailableReason } from '../../api/passkeys-available.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { AddPasskeyDialog, RemovePasskeyDialog, RenamePasskeyDialog } from './passkey-dialogs.tsx'
import { countSignInMethods } from './sign-in-methods.ts'

type OpenDialog =
  | { readonly what: 'add' }
  | { readonly what: 'rename' | 'remove'; readonly passkey: Passkey }

export function PasskeysSection({ account }: { readonly account: Account }) {
  const service = useQuery(sessionQuery).data?.service
  const unavailableReason = service === undefined ? null : passkeysUnavailableReason(service)
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const closeDialog = () => setDialog(null)
  const onlyMethod = countSignInMethods(account) <= 1

  return (
    <SheetSection
      title="Passkeys"
      lead="Add a passkey on more than one device, so that you can still sign in if you lose one."
    >
      {unavailableReason !== null && <Note tone="warn">{unavailableReason}</Note>}
      {account.passkeys.length === 0 ? (
        <p>No passkeys yet.</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {account.passkeys.map((each) => (
            <PasskeyItem
              key={each.id}
              passkey={each}
              onlyMethod={onlyMethod}
              onRename={() => setDialog({ what: 'rename', passkey: each })}
              onRemove={() => setDialog({ what: 'remove', passkey: each })}
            />
          ))}
        </ul>
      )}
      {unavailableReason === null && (
        <Button size="small" className="self-start" onClick={() => setDialog({ what: 'add' })}>
          Add a passkey
        </Button>
      )}
      {dialog?.what === 'add' && <AddPasskeyDialog onClose={closeDialog} />}
      {dialog?.what === 'rename' && (
        <RenamePasskeyDialog passkey={dialog.passkey} onClose={closeDialog} />
      )}
      {dialog?.what === 'remove' && (
        <RemovePasskeyDialog passkey={dialog.passkey} onClose={closeDialog} />
      )}
    </SheetSection>
  )
}

interface PasskeyItemProps {
  readonly passkey: Passkey
  readonly onlyMethod: boolean
  readonly onRename: () => void
  readonly onRemove: () => void
}

function PasskeyItem({ passkey, onlyMethod, onRename, onRemove }: PasskeyItemProps) {
  const { name, createdAt, lastUsedAt, backedUp } = passkey
  const heading = useId()
  return (
    <li
      aria-labelledby={heading}
      className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 @2xl:flex-nowrap py-4 first:pt-0 last:pb-0"
    >
      <div className="min-w-0">
        <h3 id={heading} className="font-medium wrap-anywhere">
          {name}
        </h3>
        <p className="text-soft text-sm">
          Created on <DateTime at={createdAt} />.{' '}
          {lastUsedAt === null ? (
            'Not used yet.'
          ) : (
            <>
              Last used <DateTime at={lastUsedAt} as="ago" />.
            </>
          )}{' '}
          {backedUp ? 'Synced between your devices.' : 'On one device only.'}
        </p>
        {onlyMethod && (
          <p className="text-sm text-soft">
            This is your only sign-in method. Add another one before you remove it.
          </p>
        )}
      </div>
      <div className="flex shrink-0 gap-3">
        <Button size="small" aria-label={`Rename the passkey ${name}`} onClick={onRename}>
          Rename
        </Button>
        <Button
          size="small"
          aria-label={`Remove the passkey ${name}`}
          disabled={onlyMethod}
          onClick={onRemove}
        >
          Remove
        </Button>
      </div>
    </li>
  )
}
