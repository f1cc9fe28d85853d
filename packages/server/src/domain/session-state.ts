import { isIP } from 'node:net'
import type { SessionState } from '@countersign/protocol'
import { ownerById } from '../storage/owners.ts'
import type { OwnerDeps } from './owner-deps.ts'
import { RECENT_MS, type Session } from './session.ts'
import { timestamp } from './timestamp.ts'

/** What a page of the dashboard begins with: who is signed in, if anyone, and where. */
export async function sessionState(
  deps: OwnerDeps,
  session: Session | null,
): Promise<SessionState> {
  const owner = session && (await ownerById(deps.db.read, session.ownerId))
  const { site, providers } = deps
  const { hostname } = new URL(site.baseUrl)
  return {
    owner: owner ? { username: owner.username, displayName: owner.display_name } : null,
    signedInAt: session && timestamp(session.signedInAt),
    recentUntil: session && timestamp(session.signedInAt + RECENT_MS),
    service: {
      name: deps.serviceName,
      shortName: site.naming.shortName,
      idHeader: site.naming.idHeader,
      baseUrl: site.baseUrl,
      passkeys: isIP(hostname.replace(/^\[|\]$/g, '')) === 0,
      development: providers.development,
    },
    signInProviders: providers.all
      .filter((each) => each.signIn)
      .map(({ id, label }) => ({ id, label })),
  }
}
