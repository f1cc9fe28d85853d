import { CodedError, didOf, type Onboarding, type OnboardingPatch } from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import { verificationsOfOwner } from '../../accounts/verification-table.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { hasVerifiedChannel, newestOwnAgents, updateOnboarding } from './own-agent-table.ts'

/** Owners with more agents than this need no help with the first one. */
const AGENTS_READ = 200

/**
 * Which of the first steps an owner has taken. Looks at their newest 200 agents.
 * @throws CodedError UNAUTHENTICATED if the account was deleted
 */
export async function describeOnboarding(
  { db: { read }, site: { naming } }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
): Promise<Onboarding> {
  const owner = await ownerById(read, ownerId)
  if (owner === undefined) throw new CodedError('UNAUTHENTICATED', 'Sign in first.')
  const agents = await newestOwnAgents(read, ownerId, AGENTS_READ)
  const live = agents.filter(({ status }) => status !== 'revoked')
  const named = live.find(({ display_name: name }) => name !== null)
  const next = named ?? live[0]
  return {
    verified: (await verificationsOfOwner(read, ownerId)).length > 0,
    claimed: agents.length > 0,
    named: named !== undefined,
    channel: await hasVerifiedChannel(
      read,
      live.map(({ tail }) => tail),
    ),
    badge: owner.badge_copied_at !== null,
    hidden: owner.onboarding_hidden_at !== null,
    agent: next === undefined ? null : didOf(naming, next.tail as Parameters<typeof didOf>[1]),
  }
}

/**
 * Records that the owner copied a badge, or hides or shows the checklist.
 * @returns the steps after the change
 * @throws CodedError FORBIDDEN if the owner is suspended
 */
export async function editOnboarding(
  deps: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  { badge, hidden }: OnboardingPatch,
): Promise<Onboarding> {
  await deps.db.write(async (tx) => {
    const at = deps.now()
    await assertOwnerNotSuspended(tx.db, ownerId)
    await updateOnboarding(tx, ownerId, {
      ...(badge && { badge_copied_at: at }),
      ...(hidden !== undefined && { onboarding_hidden_at: hidden ? at : null }),
    })
  })
  return describeOnboarding(deps, ownerId)
}
