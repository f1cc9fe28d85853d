import type { FastifyReply } from 'fastify'
import type { OwnerSide } from './owner-route-context.ts'
import type { SignedInOwner } from './signed-in-owner.ts'

/** The end of every way in: the session's cookie, and whom it belongs to. */
export function welcome(
  { signedIn }: OwnerSide,
  reply: FastifyReply,
  { owner, token }: SignedInOwner,
): { owner: { username: string; displayName: string } } {
  signedIn.remember(reply, token)
  return { owner: { username: owner.username, displayName: owner.display_name } }
}
