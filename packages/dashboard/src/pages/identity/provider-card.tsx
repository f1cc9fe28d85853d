import type { IdentityProviderCard } from '@countersign/protocol'
import { type ReactNode, useId, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { AssuranceMark } from './assurance-mark.tsx'
import { ProviderProgram } from './provider-program.tsx'
import { PublishNameField } from './published-name.tsx'
import { formatDays, KIND_NAMES } from './texts.ts'
import { useVerify } from './use-verify.ts'

interface ProviderCardProps {
  readonly provider: IdentityProviderCard
  /** Whether the owner is already verified by this provider. */
  readonly verified: boolean
  /** Whether the owner has no verification at all. */
  readonly urgent: boolean
}

/** An identity provider: what it proves, what is stored, and how long a verification is valid. */
export function ProviderCard({ provider, verified, urgent }: ProviderCardProps) {
  const id = useId()
  const [publishName, setPublishName] = useState(false)
  const verify = useVerify(provider.id, publishName)
  return (
    <li
      aria-labelledby={id}
      className="flex flex-col gap-4 rounded-2xl border border-line bg-surface p-5 sm:p-6"
    >
      <div className="flex flex-col gap-1.5">
        <p
          className={
            provider.kind === 'development' ? 'font-medium text-sm text-warn' : 'text-soft text-sm'
          }
        >
          {KIND_NAMES[provider.kind]}
        </p>
        <h3 id={id} className="font-semibold text-lg">
          {provider.label}
        </h3>
        <AssuranceMark assurance={provider.assurance} />
      </div>
      <dl className="flex flex-1 flex-col gap-3">
        <Detail name="Proves">{provider.proves}</Detail>
        <Detail name="Stores">
          Assurance level, dates, the country if the provider names it, and a one-way hash
          {provider.unique && ' that prevents a second account'}. Your name only if you publish it.
        </Detail>
        <Detail name="Valid">
          {provider.validForDays === null
            ? 'As long as the provider says, or until you remove it.'
            : `${formatDays(provider.validForDays)}. Renew it before it expires.`}
        </Detail>
      </dl>
      {!verified && provider.selfService && provider.verifiesName && (
        <PublishNameField label={provider.label} checked={publishName} onChange={setPublishName} />
      )}
      <Begin provider={provider} verified={verified} urgent={urgent} verify={verify} />
      <ErrorNote error={verify.error} />
      <ProviderProgram provider={provider.id} label={provider.label} verify={verify} />
    </li>
  )
}

interface BeginProps extends ProviderCardProps {
  readonly verify: ReturnType<typeof useVerify>
}

function Begin({ provider, verified, urgent, verify }: BeginProps) {
  if (verified) return <p className="font-medium text-good">Verified. See above.</p>
  if (!provider.selfService) {
    return (
      <p className="rounded-lg bg-sunken px-4 py-3">
        Ask the operator of this service to verify you in person.
      </p>
    )
  }
  return (
    <Button
      variant={urgent ? 'primary' : 'secondary'}
      pending={verify.pending}
      onClick={verify.run}
    >
      Verify with {provider.label}
    </Button>
  )
}

function Detail({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid grid-cols-[4rem_minmax(0,1fr)] gap-x-3">
      <dt className="text-soft">{name}</dt>
      <dd className="text-pretty">{children}</dd>
    </div>
  )
}
