import { type AgentPatch, DESCRIPTION_PATTERN, type OwnerAgent } from '@countersign/protocol'
import { whatIsWrongWithDisplayName, whatIsWrongWithUsername } from '../../parts/names.ts'

/** What can be entered; an empty text is none. */
type ProfileText = Readonly<Record<keyof OwnerAgent['profile'], string>>
/** What has been entered and not been saved. */
export type ProfileDraft = Partial<ProfileText>

export const DESCRIPTION_LENGTH = 160

/** @returns what the form shows */
export function textOf({ profile }: OwnerAgent, draft: ProfileDraft): ProfileText {
  return {
    displayName: draft.displayName ?? profile.displayName ?? '',
    username: draft.username ?? profile.username ?? '',
    description: draft.description ?? profile.description ?? '',
  }
}

/** @returns what saving would change; null where that is nothing */
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

/** As the contract counts: code points. */
export function lengthOf(text: string): number {
  return [...text].length
}

/** @returns a sentence for each field with which something is wrong */
export function whatIsWrong(text: ProfileText, shortName: string): Partial<ProfileText> {
  const displayName = text.displayName.trim() && whatIsWrongWithDisplayName(text.displayName.trim())
  const username = text.username && whatIsWrongWithUsername(text.username, shortName)
  const description = whatIsWrongWithDescription(text.description.trim())
  return {
    ...(displayName && { displayName }),
    ...(username && { username }),
    ...(description && { description }),
  }
}

function whatIsWrongWithDescription(text: string): string | null {
  const over = lengthOf(text) - DESCRIPTION_LENGTH
  if (over > 0) return `${over === 1 ? '1 character' : `${over} characters`} too many.`
  if (DESCRIPTION_PATTERN.test(text)) return null
  return 'There are characters in it that cannot be seen.'
}

/** @returns the agent as it would be with a change: what others would see */
export function withPatch(
  agent: OwnerAgent,
  patch: AgentPatch | null,
  { did, baseUrl }: { readonly did: string; readonly baseUrl: string },
): OwnerAgent {
  if (patch === null) return agent
  const profile = { ...agent.profile, ...patch }
  const { displayName, username, description } = profile
  return {
    ...agent,
    profile,
    displayName: displayName ?? username ?? `Agent ${did.slice(-24, -18)}`,
    username,
    description: description ?? '',
    certificateUrl: `${baseUrl}/agent/${username ?? did}`,
  }
}
