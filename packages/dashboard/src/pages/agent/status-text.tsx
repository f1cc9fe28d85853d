import {
  KEY_COMPROMISED,
  KEY_UNKNOWN_AFTER_RESTORE,
  OWNER_LOST,
  type OwnerAgent,
  RENOUNCED_BY_AGENT,
} from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { reasonText } from '../../agents/reasons.ts'
import { useService } from '../../agents/use-service.ts'
import { byOwner } from '../../api/acting-for.ts'
import { useMay } from '../../api/use-may.ts'
import { DateTime } from '../../components/date-time.tsx'
import { useAgent } from './agent-tabs.ts'

const SERVICE_CAUSES: Readonly<Record<string, string>> = {
  [RENOUNCED_BY_AGENT]: '72 hours after it renounced its certificate',
  [KEY_UNKNOWN_AFTER_RESTORE]:
    'because its key was lost when the service was restored from a backup',
  [OWNER_LOST]: 'because nobody was responsible for it',
  enrolment_ended: 'because its workload did not enrol again in time',
}

/** Explains the agent's status: since when, set by whom, and why. */
export function StatusText({ agent }: { readonly agent: OwnerAgent }): ReactNode {
  const { name } = useService()
  const { did } = useAgent()
  const may = useMay()
  const { status, statusSetBy, statusReason, statusChangedAt, enrolment } = agent
  const changedBy = {
    owner: byOwner,
    operator: `the operator of ${name}`,
    agent: 'the agent itself',
    service: `${name}, ${SERVICE_CAUSES[statusReason ?? ''] ?? 'because its key was reported as compromised'}`,
  }[statusSetBy]
  const since = (
    <>
      {' '}
      by {changedBy} on <DateTime at={statusChangedAt} as="minute" />.
      {statusReason && statusSetBy !== 'service' && ` Reason: ${reasonText(statusReason)}.`}
    </>
  )

  if (status === 'active') {
    return <p>The certificate is valid. Lookups and challenges answer “verified: true”.</p>
  }
  if (status === 'suspended') {
    return (
      <p>
        Suspended{since} Lookups and challenges answer “verified: false” until the suspension ends.
        {statusReason === OWNER_LOST &&
          ' Make a member responsible for the agent, then reactivate it.'}
        {enrolment !== null && statusReason !== OWNER_LOST && (
          <EnrolAgain statusSetBy={statusSetBy} />
        )}
        {enrolment === null && statusSetBy === 'service' && statusReason !== OWNER_LOST && (
          <>
            {' '}
            You cannot reactivate the agent with this key.{' '}
            <Link to="/agents/$did/keys" params={{ did }} className="text-accent underline">
              Recover its key
            </Link>
            , or revoke the agent.
          </>
        )}
        {enrolment === null && statusSetBy === 'agent' && (
          <>
            {' '}
            The agent is revoked 72 hours later.{' '}
            <Link to="/agents/$did/keys" params={{ did }} className="text-accent underline">
              Recover it with a new key
            </Link>
            , if it did not do this.
          </>
        )}
        {statusSetBy === 'operator' &&
          ` Only the operator of ${name} can end it. You can still revoke the agent.`}
      </p>
    )
  }
  return (
    <p>
      Revoked{since} Revocation is permanent.{' '}
      {statusReason === KEY_COMPROMISED
        ? 'Nobody can claim this key again.'
        : enrolment === null
          ? 'The same key and label can be claimed again, which creates a certificate with a new DID.'
          : 'Its workload can enrol again, and gets a new DID.'}{' '}
      {enrolment === null && may('manager') && (
        <>
          <Link to="/claim" className="text-accent underline">
            {statusReason === KEY_COMPROMISED ? 'Claim an agent with a new key' : 'Claim it again'}
          </Link>
          .
        </>
      )}
    </p>
  )
}

/** What to do about a suspended agent whose key cannot be recovered. */
function EnrolAgain({ statusSetBy }: Pick<OwnerAgent, 'statusSetBy'>): ReactNode {
  if (statusSetBy === 'service') {
    return ' You cannot reactivate the agent with this key. Revoke it: its workload enrols again with a new key.'
  }
  if (statusSetBy !== 'agent') return null
  return ' The agent is revoked 72 hours later. Its workload can enrol again with a new key.'
}
