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
      'Its DID document no longer lets its key authenticate.',
      'The certificate page says that it is suspended, with grade E.',
      'It keeps its DID, name and picture. You can reactivate it at any moment.',
    ],
    action: 'Suspend the agent',
    done: 'The agent is suspended.',
  },
  reactivate: {
    question: (name) => `Reactivate ${name}?`,
    effects: () => [
      'Lookups and challenges answer “verified: true” again, at once.',
      'Its DID document lets its key authenticate again.',
      'Do it only if its key is in no other hands than before.',
    ],
    action: 'Reactivate the agent',
    done: 'The agent is active again.',
  },
  revoke: {
    question: (name) => `Revoke ${name} for good?`,
    effects: ({ username }) => [
      'Lookups and challenges answer “verified: false” at once.',
      'Its DID document is withdrawn: it holds no key any more.',
      'The certificate page says that it is revoked, with grade E. The page stays, so that nobody is deceived.',
      username !== null &&
        `Its username ${username} stays yours: you can give it to another agent.`,
      'This DID never becomes valid again. The same label and key can be claimed again, with a new DID.',
      'If you choose the reason key_compromised, your other agents with the same key are revoked too, and nobody can claim this key again.',
    ],
    action: 'Revoke for good',
    done: 'The agent is revoked.',
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: anew whenever it opens, and only then
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
