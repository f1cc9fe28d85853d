import type { OwnerAgent } from '@countersign/protocol'
import { useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { useService } from '../../agents/use-service.ts'
import { ApiError, send } from '../../api/client.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { type ProfileDraft, patchOf, textOf, validateProfile, withPatch } from './profile-draft.ts'

/** State of the profile form. */
export function useProfile(did: string, agent: OwnerAgent) {
  const { shortName } = useService()
  const cache = useAgentCache(did)
  const [draft, setDraft] = useState<ProfileDraft>({})
  const [usernameRefusal, setUsernameRefusal] = useState<string | null>(null)
  const text = textOf(agent, draft)
  // A draft cannot be saved once the agent is revoked.
  const patch = agent.status === 'revoked' ? null : patchOf(agent, draft)
  const errors = validateProfile(text, shortName)
  const preview = withPatch(agent, patch, did)

  const saving = useAction(async () => {
    if (patch === null || Object.keys(errors).length > 0) return
    setUsernameRefusal(null)
    try {
      await cache.optimistically(preview, () => send<OwnerAgent>('PATCH', pathOf(did), patch))
    } catch (error) {
      // The form validates everything else by the same rules, so the username must be taken.
      if (!(patch.username && error instanceof ApiError && error.code === 'VALIDATION_ERROR')) {
        throw error
      }
      return setUsernameRefusal(error.message)
    }
    setDraft({})
    toast('Profile saved. The certificate shows it now.')
  })

  return {
    text,
    /** Messages by field. */
    errors,
    /** The service's message if it refused the username. */
    usernameRefusal,
    changed: patch !== null,
    /** The agent with the draft applied. */
    preview,
    saving,
    edit: (part: ProfileDraft) => {
      setDraft((before) => ({ ...before, ...part }))
      if (part.username !== undefined) setUsernameRefusal(null)
    },
    discard: () => {
      setDraft({})
      setUsernameRefusal(null)
    },
  }
}

export type Profile = ReturnType<typeof useProfile>
