import type { AgentObject } from '@countersign/protocol'
import { CopyButton, CopyField, Day, KeyValue } from '@countersign/ui'
import { grouped, reasonWords } from '../../agents/wording.ts'
import type { FaceProps } from './certificate-face.tsx'
import { Clause } from './sheet.tsx'

/** The public key and the identifiers of the agent. */
export function KeyClause({ context, certificate: { agent, recovery } }: FaceProps) {
  const did = agent[context.site.naming.didField]
  return (
    <Clause id="key" title="Key and identifiers">
      <dl className="space-y-5">
        <KeyValue name="DID">
          <CopyField value={did} what="the DID" />
        </KeyValue>
        <KeyValue name="Fingerprint of the key (RFC 7638, SHA-256)">
          <span className="flex items-start gap-3">
            <code className="flex min-w-0 flex-1 flex-wrap gap-x-2.5 gap-y-1 py-1 font-mono text-base">
              {grouped(agent.keyThumbprint).map((four, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: groups may repeat, and their order never changes
                <span key={i}>{four}</span>
              ))}
            </code>
            <CopyButton value={agent.keyThumbprint} what="the fingerprint" />
          </span>
        </KeyValue>
        <KeyValue name="Public key (Ed25519, base64)">
          <CopyField value={agent.publicKey} what="the public key" />
        </KeyValue>
        <KeyValue name="Key number">
          {agent.keySequence}, since <Day at={agent.keyChangedAt} exact />
        </KeyValue>
        <KeyValue name="Delegation">{delegationWords(agent)}</KeyValue>
        {recovery !== null && (
          <KeyValue name="Pending recovery">
            {RECOVERY_WORDS[recovery.reason]}{' '}
            {recovery.effectiveAt === null ? (
              'No new key has been named yet.'
            ) : (
              <>
                A new key takes effect on <Day at={recovery.effectiveAt} exact />.
              </>
            )}
          </KeyValue>
        )}
        <KeyValue name="did:web">
          <CopyField value={agent.didWeb} what="the did:web" />
        </KeyValue>
      </dl>
    </Clause>
  )
}

function delegationWords({ maxDelegationDepth }: AgentObject): string {
  if (maxDelegationDepth === 0) return 'not allowed'
  return `up to ${maxDelegationDepth} ${maxDelegationDepth === 1 ? 'level' : 'levels'}`
}

const RECOVERY_WORDS = {
  key_lost: 'The owner reported this key as lost.',
  key_compromised: 'The owner reported this key as compromised.',
} as const

/** The dates of the certificate. */
export function DatesClause({ certificate: { agent } }: Pick<FaceProps, 'certificate'>) {
  const { status, statusReason, claimedAt, statusChangedAt, updatedAt } = agent
  const changed = statusChangedAt !== claimedAt
  return (
    <Clause id="dates" title="Dates">
      <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <KeyValue name="Certified on">
          <Day at={claimedAt} exact />
        </KeyValue>
        {changed && (
          <KeyValue name={status === 'active' ? 'Reactivated on' : `${WORDS[status]} on`}>
            <Day at={statusChangedAt} exact />
            {statusReason !== null && <> ({reasonWords(statusReason)})</>}
          </KeyValue>
        )}
        <KeyValue name="Last changed on">
          <Day at={updatedAt} exact />
        </KeyValue>
      </dl>
    </Clause>
  )
}

const WORDS = { suspended: 'Suspended', revoked: 'Revoked' } as const
