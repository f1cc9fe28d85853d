import { Day, Month } from '@countersign/ui'
import type { ReactNode } from 'react'
import { reasonWords } from '../../agents/wording.ts'
import type { Certificate } from '../certificate.ts'
import { Quoted } from './quoted.tsx'

interface AnswerProps {
  readonly certificate: Certificate
}

/** The certificate in a few sentences: who runs the agent, since when, and where it can be reached. */
export function Answer({ certificate }: AnswerProps): ReactNode {
  const { agent } = certificate
  if (agent.status === 'suspended') {
    return (
      <>
        Suspended since <Day at={agent.statusChangedAt} />
        <Reason of={agent.statusReason} />. Do not rely on this agent until its certificate is
        active again.
      </>
    )
  }
  if (agent.status === 'revoked') {
    return (
      <>
        Revoked on <Day at={agent.statusChangedAt} />
        <Reason of={agent.statusReason} />. Do not trust anyone who shows this certificate. It never
        becomes valid again.
      </>
    )
  }
  return (
    <>
      <RunBy certificate={certificate} /> Active since <Month at={activeSince(certificate)} />.{' '}
      <Reachable certificate={certificate} />
    </>
  )
}

function Reason({ of: reason }: { readonly of: string | null }) {
  return reason === null ? null : <> (reason given: {reasonWords(reason)})</>
}

/** Who runs an active agent. A self-declared name is quoted, and the next sentence calls it unverified, whatever it says. */
function RunBy({ certificate: { agent, verification, verifiedName } }: AnswerProps): ReactNode {
  const { owner, ownerKind } = agent
  const isOrganisation = ownerKind === 'organisation'
  if (owner === null) return 'Its owner has deleted their account.'
  if (verifiedName !== null) {
    const { name, label, verifiedAt } = verifiedName
    return (
      <>
        Run by {isOrganisation && 'the organisation '}
        <strong className="font-bold">
          <bdi>{name}</bdi>
        </strong>
        , {isOrganisation ? '' : 'name '}verified by {label} in <Month at={verifiedAt} />.
      </>
    )
  }
  const declared = (
    <>
      {isOrganisation ? 'The organisation that runs it calls itself' : 'Its owner calls themselves'}{' '}
      <Quoted>{owner.displayName}</Quoted>.
    </>
  )
  if (verification === null || agent.developmentOnly) {
    return (
      <>
        {declared} Nobody has verified this name or {isOrganisation ? 'its' : 'their'} identity.
      </>
    )
  }
  const { label, verifiedAt, assurance } = verification
  return (
    <>
      {declared} This name is not verified. {isOrganisation ? 'Its' : 'Their'} identity was verified
      in <Month at={verifiedAt} /> ({label}, {assurance} assurance).
    </>
  )
}

/** The time of the last change may be only a day, and then before the claim. */
function activeSince({ agent: { claimedAt, statusChangedAt } }: Certificate): string {
  return statusChangedAt > claimedAt ? statusChangedAt : claimedAt
}

/** Only channels with an address count here: the name of a runtime is chosen by the owner. */
function Reachable({ certificate: { channels } }: AnswerProps): ReactNode {
  const addresses = channels.filter(({ link }) => link !== null)
  const [strongest] = addresses
  if (strongest === undefined) return 'It has no verified address.'
  const { tier, label, handleOrDomain } = strongest
  return (
    <>
      Reachable {tier === 2 ? 'at' : `on ${label} as`} <bdi>{handleOrDomain}</bdi>
      {addresses.length > 1 && (
        <>
          {' '}
          and{' '}
          <a href="#channels" className="text-accent underline underline-offset-4">
            {addresses.length - 1} more
          </a>
        </>
      )}
      .
    </>
  )
}
