import type { IdentityProviderCard, OwnerVerification } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { AssuranceMark } from './assurance-mark.tsx'
import { ProviderProgram } from './provider-program.tsx'
import { PublishedName, PublishNameField } from './published-name.tsx'
import { BY_DOMAIN, removalEffects } from './texts.ts'
import { useVerify } from './use-verify.ts'

interface VerificationItemProps {
  readonly verification: OwnerVerification
  /** Undefined if the operator no longer offers the provider. */
  readonly provider: IdentityProviderCard | undefined
  readonly labelOf: (provider: string) => string
  /** Whether it is the one that counts for the grade. */
  readonly strongest: boolean
}

/** A current or expired verification of the owner. */
export function VerificationItem({
  verification,
  provider,
  labelOf,
  strongest,
}: VerificationItemProps) {
  const { label, assurance, verifiedAt, expiresAt, expired, renewFrom, publishedName } =
    verification
  const heading = useId()
  const mayChange = useMay()('admin')
  const [removing, setRemoving] = useState(false)
  const [publishName, setPublishName] = useState(publishedName !== null)
  const renew = useVerify(verification.provider, publishName)
  // Daily checks renew it, and it is removed with the domain.
  const isDomain = verification.provider === BY_DOMAIN
  const due = expired || (renewFrom !== null && Date.parse(renewFrom) <= Date.now())

  return (
    <li aria-labelledby={heading} className="flex flex-col gap-3 py-5 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-4 @2xl:flex-nowrap">
        <div className="flex min-w-0 flex-col gap-1">
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
            <h3 id={heading} className="font-semibold text-lg">
              {label}
            </h3>
            <VerificationStatus expired={expired} due={due} />
            {strongest && <span className="text-soft text-sm">Counts for the grade</span>}
            {provider?.kind === 'development' && (
              <span className="rounded-full bg-warn-wash px-2.5 py-0.5 font-medium text-sm text-warn">
                Development only
              </span>
            )}
          </div>
          <AssuranceMark assurance={assurance} />
          <p className="text-soft text-sm">
            Verified on <DateTime at={verifiedAt} />.{' '}
            {expiresAt !== null && (
              <>
                {expired ? 'Expired on' : 'Expires on'} <DateTime at={expiresAt} />.{' '}
              </>
            )}
            {!due && renewFrom !== null && !isDomain && (
              <>
                Renew it from <DateTime at={renewFrom} />.
              </>
            )}
          </p>
        </div>
        <div className="flex shrink-0 gap-3">
          {provider?.selfService && mayChange && (
            <Button
              size="small"
              variant={due ? 'primary' : 'secondary'}
              pending={renew.pending}
              aria-label={`Renew the verification by ${label}`}
              onClick={renew.run}
            >
              Renew
            </Button>
          )}
          {mayChange && !isDomain && (
            <Button
              size="small"
              aria-label={`Remove the verification by ${label}`}
              onClick={() => setRemoving(true)}
            >
              Remove
            </Button>
          )}
        </div>
      </div>
      {publishedName !== null && (
        <PublishedName provider={verification.provider} name={publishedName} />
      )}
      {provider?.selfService && provider.verifiesName && mayChange && (
        <PublishNameField label={label} checked={publishName} onChange={setPublishName} renewal />
      )}
      <ErrorNote error={renew.error} />
      <ProviderProgram provider={verification.provider} label={label} verify={renew} />
      <RemoveDialog
        open={removing}
        onClose={() => setRemoving(false)}
        verification={verification}
        labelOf={labelOf}
      />
    </li>
  )
}

function VerificationStatus({
  expired,
  due,
}: {
  readonly expired: boolean
  readonly due: boolean
}) {
  const shape = 'rounded-full px-2.5 py-0.5 font-medium text-sm'
  if (expired) return <span className={`${shape} bg-bad-wash text-bad`}>Expired</span>
  if (due) return <span className={`${shape} bg-warn-wash text-warn`}>Renewal due</span>
  return <span className={`${shape} bg-good-wash text-good`}>Valid</span>
}

interface RemoveDialogProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly verification: OwnerVerification
  readonly labelOf: (provider: string) => string
}

/** Confirms the removal after listing its effects. */
function RemoveDialog({ open, onClose, verification, labelOf }: RemoveDialogProps) {
  const { provider, label, expired, ifRemoved } = verification
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()

  async function remove() {
    await withRecentSignIn(() => send('DELETE', `/api/identity/${encodeURIComponent(provider)}`))
    // Grades and the permission to create tokens may have changed.
    await queries.invalidateQueries()
    toast(`The verification by ${label} was removed.`)
  }

  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={`Remove the verification by ${label}?`}
      action="Remove the verification"
      danger
      onConfirm={remove}
    >
      {expired ? (
        <p>It has expired. Removing it changes nothing for your agents.</p>
      ) : (
        <>
          <p>The effects are immediate:</p>
          <ul className="flex list-disc flex-col gap-1.5 pl-5">
            {removalEffects(ifRemoved, labelOf).map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
    </ConfirmDialog>
  )
}
