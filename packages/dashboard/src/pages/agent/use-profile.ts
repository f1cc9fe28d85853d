import type { OwnerAgent } from '@countersign/protocol'
import { useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { useService } from '../../agents/use-service.ts'
import { ApiError, send } from '../../api/client.ts'
import { toast } from '../../parts/toast.tsx'
import { useAction } from '../../parts/use-action.ts'
import { type ProfileDraft, patchOf, textOf, whatIsWrong, withPatch } from './profile-draft.ts'

/** What others read of an agent, as it is being edited. */
export function useProfile(did: string, agent: OwnerAgent) {
  const { shortName, baseUrl } = useService()
  const cache = useAgentCache(did)
  const [draft, setDraft] = useState<ProfileDraft>({})
  const [refused, setRefused] = useState<string | null>(null)
  const text = textOf(agent, draft)
  // What was being written when the agent was revoked is nothing any more.
  const patch = agent.status === 'revoked' ? null : patchOf(agent, draft)
  const wrong = whatIsWrong(text, shortName)
  const preview = withPatch(agent, patch, { did, baseUrl })

  const saving = useAction(async () => {
    if (patch === null || Object.keys(wrong).length > 0) return
    setRefused(null)
    try {
      await cache.during(preview, () => send<OwnerAgent>('PATCH', pathOf(did), patch))
    } catch (error) {
      // Everything else has been checked here by the same rules: what is left is that the username cannot be had.
      if (!(patch.username && error instanceof ApiError && error.code === 'VALIDATION_ERROR')) {
        throw error
      }
      return setRefused(error.message)
    }
    setDraft({})
    toast('Saved. Others see it so now.')
  })

  return {
    text,
    /** Sentences, by field. */
    wrong,
    /** Why the service did not give the username, in its words. */
    refused,
    changed: patch !== null,
    /** The agent as it would be. */
    preview,
    saving,
    edit: (part: ProfileDraft) => {
      setDraft((before) => ({ ...before, ...part }))
      if (part.username !== undefined) setRefused(null)
    },
    discard: () => {
      setDraft({})
      setRefused(null)
    },
  }
}

export type Profile = ReturnType<typeof useProfile>
