import type { CheckedDomain, OrganisationDomain, OwnerVerification } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Perspectives } from '../../channels/perspectives.tsx'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { DomainForm } from './domain-form.tsx'
import { DOMAIN_PATH, domainQuery } from './domain-queries.ts'
import { removalEffects } from './texts.ts'

interface DomainSectionProps {
  /** The verification of the organisation by a domain, if there is one. */
  readonly verification: OwnerVerification | undefined
  readonly labelOf: (provider: string) => string
}

/** The domain by which an organisation is verified: what to publish, the check, and until when it counts. */
export function DomainSection({ verification, labelOf }: DomainSectionProps) {
  const { data, error, isPending, refetch } = useQuery(domainQuery)
  return (
    <SheetSection
      title="Domain"
      lead="Prove that a domain belongs to the organisation. Certificates of its agents then show the domain. It is a verification of low assurance."
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the domain" />
          <Skeleton className="h-40" />
        </>
      )}
      {data && <LoadedDomain domain={data} verification={verification} labelOf={labelOf} />}
    </SheetSection>
  )
}

interface LoadedDomainProps extends DomainSectionProps {
  readonly domain: OrganisationDomain
}

function LoadedDomain({ domain: shown, verification, labelOf }: LoadedDomainProps) {
  const { domain, line, provenAt, expiresAt } = shown
  const may = useMay()
  const [dialog, setDialog] = useState<'change' | 'remove' | null>(null)
  const close = () => setDialog(null)

  if (domain === null) {
    return may('admin') ? <DomainForm /> : <p>No domain yet. An admin can set one.</p>
  }
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-col gap-1">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h3 className="wrap-anywhere font-semibold text-lg">{domain}</h3>
            <DomainMark isProven={provenAt !== null} />
          </div>
          <p className="text-pretty text-soft text-sm">
            {provenAt !== null && expiresAt !== null ? (
              <>
                Proven on <DateTime at={provenAt} />, valid until <DateTime at={expiresAt} />. Daily
                checks renew it as long as the text stays published.
              </>
            ) : (
              'Publish the text in one of the two places, then check the domain.'
            )}
          </p>
        </div>
        {may('admin') && (
          <div className="flex flex-wrap gap-3">
            <Button size="small" onClick={() => setDialog('change')}>
              Change domain
            </Button>
            <Button size="small" variant="warning" onClick={() => setDialog('remove')}>
              Remove domain …
            </Button>
          </div>
        )}
      </div>
      {line === null ? (
        <ExpiredToken domain={domain} />
      ) : (
        <WhatToPublish domain={shown} line={line} />
      )}
      {dialog === 'change' && <DomainForm current={domain} onClose={close} />}
      {dialog === 'remove' && (
        <RemoveDomain
          domain={domain}
          verification={verification}
          labelOf={labelOf}
          onClose={close}
        />
      )}
    </>
  )
}

function DomainMark({ isProven }: { readonly isProven: boolean }) {
  const shape = 'rounded-full px-2.5 py-0.5 font-medium text-sm'
  return isProven ? (
    <span className={`${shape} bg-good-wash text-good`}>Proven</span>
  ) : (
    <span className={`${shape} bg-warn-wash text-warn`}>Not proven</span>
  )
}

interface WhatToPublishProps {
  readonly domain: OrganisationDomain
  readonly line: string
}

/** The two places for the text, and the check. */
function WhatToPublish({ domain, line }: WhatToPublishProps) {
  const { record, url, provenAt } = domain
  const may = useMay()
  const queries = useQueryClient()
  const [check, setCheck] = useState<CheckedDomain['check'] | null>(null)
  const checkNow = useAction(async () => {
    setCheck(null)
    const checked = await send<CheckedDomain>('POST', `${DOMAIN_PATH}/check`)
    setCheck(checked.check)
    // Verifications and grades may have changed.
    await queries.invalidateQueries()
  })
  return (
    <>
      <Tabs
        label="Where to publish the text"
        tabs={[
          {
            id: 'txt',
            title: 'TXT record',
            content: (
              <div className="flex flex-col gap-5">
                <p className="text-pretty">Add a TXT record to the DNS of the domain.</p>
                <CopyField label="Name" value={record ?? ''} />
                <CopyField label="Value" value={line} />
              </div>
            ),
          },
          {
            id: 'file',
            title: 'File on the website',
            content: (
              <div className="flex flex-col gap-5">
                <p className="text-pretty">Serve a text file with this line at this address.</p>
                <CopyField label="Address" value={url ?? ''} />
                <CopyField label="Line" value={line} />
              </div>
            ),
          },
        ]}
      />
      {may('admin') && (
        <Button
          variant={provenAt === null ? 'primary' : 'secondary'}
          className="self-start"
          pending={checkNow.pending}
          onClick={checkNow.run}
        >
          Check now
        </Button>
      )}
      <ErrorNote error={checkNow.error} />
      <div role="status" className="empty:hidden">
        {check !== null && <CheckNote check={check} isProven={provenAt !== null} />}
      </div>
    </>
  )
}

interface CheckNoteProps {
  readonly check: CheckedDomain['check']
  readonly isProven: boolean
}

const RESULTS = {
  proven: 'The text was found: the domain is proven.',
  absent: 'The text was not found. A new entry can take minutes, sometimes hours, to be visible.',
  unreachable: 'Too few servers responded. Nothing has changed. Check again in a few minutes.',
} as const

function CheckNote({ check: { outcome, perspectives }, isProven }: CheckNoteProps) {
  return (
    <div className="flex flex-col gap-4">
      <Note tone={outcome === 'proven' ? 'good' : 'warn'}>
        <p>{RESULTS[outcome]}</p>
      </Note>
      <Perspectives perspectives={perspectives} everVerified={isProven} />
    </div>
  )
}

/** Each token can prove a domain only once, and for a limited time. */
function ExpiredToken({ domain }: { readonly domain: string }) {
  const may = useMay()
  const queries = useQueryClient()
  const renew = useAction(async () => {
    const set = await send<OrganisationDomain>('PUT', DOMAIN_PATH, { domain })
    queries.setQueryData(domainQuery.queryKey, set)
  })
  return (
    <div className="flex flex-col items-start gap-4">
      <p className="text-pretty">
        The text to publish has expired.
        {may('admin') ? ' Create a new one, and publish it instead.' : ' An admin can renew it.'}
      </p>
      {may('admin') && (
        <Button variant="primary" pending={renew.pending} onClick={renew.run}>
          Create a new text
        </Button>
      )}
      <ErrorNote error={renew.error} />
    </div>
  )
}

interface RemoveDomainProps extends DomainSectionProps {
  readonly domain: string
  readonly onClose: () => void
}

/** Confirms the removal after listing its effects. */
function RemoveDomain({ domain, verification, labelOf, onClose }: RemoveDomainProps) {
  const queries = useQueryClient()
  async function remove() {
    await send('DELETE', DOMAIN_PATH)
    await queries.invalidateQueries()
    toast(`The domain ${domain} was removed.`)
  }
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Remove ${domain}?`}
      action="Remove the domain"
      danger
      onConfirm={remove}
    >
      {verification === undefined || verification.expired ? (
        <p>It does not verify the organisation now, so nothing changes for its agents.</p>
      ) : (
        <>
          <p>The verification by this domain ends at once:</p>
          <ul className="flex list-disc flex-col gap-1.5 pl-5">
            {removalEffects(verification.ifRemoved, labelOf).map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
    </ConfirmDialog>
  )
}
