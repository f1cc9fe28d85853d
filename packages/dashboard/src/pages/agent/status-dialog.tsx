import type { OwnerAgent } from '@countersign/protocol'
import { useEffect } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { ReasonField, useReason } from '../../agents/reason-field.tsx'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { send } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { toast } from '../../components/toast.tsx'

export type StatusChange = 'suspend' | 'reactivate' | 'revoke'

interface Texts {
  readonly question: (name: string) => string
  /** The exact effects. */
  readonly effects: (agent: OwnerAgent) => readonly (string | false)[]
  readonly action: string
  readonly done: string
}

const TEXTS: Readonly<Record<StatusChange, Texts>> = {
  suspend: {
    question: (name) => `Suspend ${name}?`,
    effects: () => [
      'Lookups and challenges answer “verified: false” at once.',
      'The DID document no longer lists the key for authentication.',
      'The certificate page shows the suspension and grade E.',
      'The agent keeps its DID, name and picture. You can reactivate it at any time.',
    ],
    action: 'Suspend agent',
    done: 'Agent suspended.',
  },
  reactivate: {
    question: (name) => `Reactivate ${name}?`,
    effects: () => [
      'Lookups and challenges answer “verified: true” again, at once.',
      'The DID document lists the key for authentication again.',
      'Reactivate the agent only if its key is not compromised.',
    ],
    action: 'Reactivate agent',
    done: 'Agent reactivated.',
  },
  revoke: {
    question: (name) => `Revoke ${name}?`,
    effects: ({ username }) => [
      'Lookups and challenges answer “verified: false” at once.',
      'The DID document is deactivated and no longer contains the key.',
      'The certificate page stays public and shows the revocation and grade E.',
      username !== null && `You keep its username ${username} and can give it to another agent.`,
      'Revocation is permanent. The same label and key can be claimed again, with a new DID.',
      'With the reason “Key may be compromised”, your other agents with the same key are revoked too, and nobody can claim this key again.',
    ],
    action: 'Revoke agent',
    done: 'Agent revoked.',
  },
}

interface StatusDialogProps {
  readonly did: string
  readonly agent: OwnerAgent
  readonly change: StatusChange
  readonly open: boolean
  readonly onClose: () => void
  readonly focusAfter: () => HTMLElement | true | null
}

/**
 * Explains and confirms a status change. No optimistic update, because the change must not look done before it is.
 */
export function StatusDialog({ did, agent, change, ...dialog }: StatusDialogProps) {
  const { question, effects, action, done } = TEXTS[change]
  const cache = useAgentCache(did)
  const reason = useReason()
  const takesReason = change !== 'reactivate'

  const { reset } = reason
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it opens
  useEffect(reset, [dialog.open])

  async function confirm() {
    const body = takesReason ? { reason: reason.reason } : {}
    cache.put(await send<OwnerAgent>('POST', `${pathOf(did)}/${change}`, body))
    toast(done)
  }

  return (
    <ConfirmDialog
      {...dialog}
      title={question(agent.displayName)}
      action={action}
      danger={change === 'revoke'}
      ready={!takesReason || reason.valid}
      onConfirm={confirm}
    >
      <ul className="list-disc space-y-1.5 pl-5 text-pretty">
        {effects(agent).map((each) => each && <li key={each}>{each}</li>)}
      </ul>
      {takesReason && <ReasonField state={reason} />}
    </ConfirmDialog>
  )
}
