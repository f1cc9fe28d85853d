import type { Account, Passkey } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { whyNoPasskeys } from '../../api/passkeys.ts'
import { sessionQuery } from '../../api/session.ts'
import { Button } from '../../parts/button.tsx'
import { Note } from '../../parts/error-note.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { AddPasskeyDialog, RemovePasskeyDialog, RenamePasskeyDialog } from './passkey-dialogs.tsx'
import { waysIn } from './ways-in.ts'

type Doing =
  | { readonly what: 'add' }
  | { readonly what: 'rename' | 'remove'; readonly passkey: Passkey }

/** The keys that open the account. */
export function PasskeysSection({ account }: { readonly account: Account }) {
  const service = useQuery(sessionQuery).data?.service
  const why = service === undefined ? null : whyNoPasskeys(service)
  const [doing, setDoing] = useState<Doing | null>(null)
  const done = () => setDoing(null)
  const onlyWay = waysIn(account) <= 1

  return (
    <Clause
      title="Passkeys"
      lead="Each opens this account. Have one on more than one device, so that losing a device does not lock you out."
    >
      {why !== null && <Note tone="warn">{why}</Note>}
      {account.passkeys.length === 0 ? (
        <p>There is none yet.</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {account.passkeys.map((each) => (
            <PasskeyItem
              key={each.id}
              passkey={each}
              onlyWay={onlyWay}
              onRename={() => setDoing({ what: 'rename', passkey: each })}
              onRemove={() => setDoing({ what: 'remove', passkey: each })}
            />
          ))}
        </ul>
      )}
      {why === null && (
        <Button size="small" className="self-start" onClick={() => setDoing({ what: 'add' })}>
          Add a passkey
        </Button>
      )}
      {doing?.what === 'add' && <AddPasskeyDialog onClose={done} />}
      {doing?.what === 'rename' && <RenamePasskeyDialog passkey={doing.passkey} onClose={done} />}
      {doing?.what === 'remove' && <RemovePasskeyDialog passkey={doing.passkey} onClose={done} />}
    </Clause>
  )
}

interface PasskeyItemProps {
  readonly passkey: Passkey
  readonly onlyWay: boolean
  readonly onRename: () => void
  readonly onRemove: () => void
}

function PasskeyItem({ passkey, onlyWay, onRename, onRemove }: PasskeyItemProps) {
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
          Made on <Moment at={createdAt} />.{' '}
          {lastUsedAt === null ? (
            'Not used yet.'
          ) : (
            <>
              Last used <Moment at={lastUsedAt} as="ago" />.
            </>
          )}{' '}
          {backedUp ? 'On all devices that share it.' : 'On one device only.'}
        </p>
        {onlyWay && (
          <p className="text-sm text-soft">
            It is your only way in: add another one before you remove it.
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
          disabled={onlyWay}
          onClick={onRemove}
        >
          Remove
        </Button>
      </div>
    </li>
  )
}
