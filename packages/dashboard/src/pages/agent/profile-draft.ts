import { type AgentPatch, DESCRIPTION_PATTERN, type OwnerAgent } from '@countersign/protocol'
import {
  descriptionImitation,
  displayNameError,
  usernameError,
} from '../../components/validate-names.ts'

/** The form's values. An empty text means that the field is not set. */
type ProfileText = Readonly<Record<keyof OwnerAgent['profile'], string>>
/** The unsaved changes. */
export type ProfileDraft = Partial<ProfileText>

export const DESCRIPTION_LENGTH = 160

/** @returns the values that the form shows */
export function textOf({ profile }: OwnerAgent, draft: ProfileDraft): ProfileText {
  return {
    displayName: draft.displayName ?? profile.displayName ?? '',
    username: draft.username ?? profile.username ?? '',
    description: draft.description ?? profile.description ?? '',
  }
}

/** @returns the request that saves the draft; null if nothing has changed */
export function patchOf({ profile }: OwnerAgent, draft: ProfileDraft): AgentPatch | null {
  const patch: AgentPatch = {}
  for (const key of ['displayName', 'username', 'description'] as const) {
    const text = draft[key]
    if (text === undefined) continue
    const value = text.trim() || null
    if (value !== profile[key]) patch[key] = value
  }
  return Object.keys(patch).length === 0 ? null : patch
}

/** Counts code points, as the contract does. */
export function lengthOf(text: string): number {
  return [...text].length
}

/** @returns a message for each invalid field */
export function validateProfile(text: ProfileText, shortName: string): Partial<ProfileText> {
  const displayName = text.displayName.trim() && displayNameError(text.displayName.trim())
  const username = text.username && usernameError(text.username, shortName)
  const description = descriptionError(text.description.trim())
  return {
    ...(displayName && { displayName }),
    ...(username && { username }),
    ...(description && { description }),
  }
}

function descriptionError(text: string): string | null {
  const excess = lengthOf(text) - DESCRIPTION_LENGTH
  if (excess > 0) return `${excess === 1 ? '1 character' : `${excess} characters`} too many.`
  if (DESCRIPTION_PATTERN.test(text)) return descriptionImitation(text)
  return 'Remove the invisible characters.'
}

/** @returns the agent with the change applied, for the preview */
export function withPatch(agent: OwnerAgent, patch: AgentPatch | null, did: string): OwnerAgent {
  if (patch === null) return agent
  const profile = { ...agent.profile, ...patch }
  const { displayName, username, description } = profile
  return {
    ...agent,
    profile,
    displayName: displayName ?? username ?? `Agent ${did.slice(-24, -18)}`,
    username,
    description: description ?? '',
  }
}
