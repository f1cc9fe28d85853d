import type { SessionState } from '@countersign/protocol'
import { ownerById } from '../storage/owners.ts'
import type { OwnerDeps } from './owner-deps.ts'
import { RECENT_MS, type Session } from './session.ts'
import { allowsPasskeys } from './sign-in/relying-party.ts'
import { timestamp } from './timestamp.ts'

/** What a page of the dashboard begins with: who is signed in, if anyone, and where. */
export async function sessionState(
  deps: OwnerDeps,
  session: Session | null,
): Promise<SessionState> {
  const owner = session && (await ownerById(deps.db.read, session.ownerId))
  const { site, providers } = deps
  return {
    owner: owner ? { username: owner.username, displayName: owner.display_name } : null,
    signedInAt: session && timestamp(session.signedInAt),
    recentUntil: session && timestamp(session.signedInAt + RECENT_MS),
    service: {
      name: deps.serviceName,
      shortName: site.naming.shortName,
      idHeader: site.naming.idHeader,
      baseUrl: site.baseUrl,
      passkeys: allowsPasskeys(site),
      development: providers.development,
    },
    signInProviders: providers.all
      .filter((each) => each.signIn)
      .map(({ id, label }) => ({ id, label })),
  }
}
