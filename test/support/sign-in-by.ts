import { randomBytes } from 'node:crypto'
import { startSession } from '../../packages/server/src/accounts/owners/session.ts'
import { Cookies } from '../../packages/server/src/http/cookies.ts'
import type { TestService } from './service.ts'
import { type SignedInOwner, withCookie } from './signed-in.ts'

export const HOUR_MS = 3_600_000

/** A clock that the test moves. */
export class TestClock {
  offset = 0
  readonly now = (): number => Date.now() + this.offset
  /** For what is signed: Unix seconds. */
  get signed(): { readonly issuedAt: number } {
    return { issuedAt: Math.floor(this.now() / 1000) }
  }
  advance(hours: number): void {
    this.offset += hours * HOUR_MS
  }
}

interface SignIn {
  readonly method?: 'passkey' | 'provider' | 'link' | 'recovery-code'
  /** When the method was added, in milliseconds since 1970. */
  readonly addedAt?: number
  readonly signedInAt?: number
}

/** Signs an owner in with a method that was added 80 hours ago, unless the test says otherwise. */
export async function signInBy(
  service: TestService,
  ownerId: number,
  now: () => number,
  { method = 'passkey', addedAt = now() - 80 * HOUR_MS, signedInAt = now() }: SignIn = {},
): Promise<SignedInOwner> {
  const id = randomBytes(12).toString('base64url')
  const provider = `provider-${id}`
  const token = await service.operator.db.write(async (tx) => {
    const method_ = { owner_id: ownerId, created_at: addedAt }
    if (method === 'passkey') {
      const unused = { public_key: randomBytes(32), counter: 0, transports: '[]', backed_up: 0 }
      await tx.db
        .insertInto('passkeys')
        .values({ credential_id: id, ...method_, ...unused, name: id, last_used_at: null } as never)
        .execute()
    }
    if (method === 'provider') {
      const identity = { provider, subject_hash: randomBytes(32), ...method_ }
      await tx.db.insertInto('sign_in_identities').values(identity).execute()
    }
    return startSession({ now: () => signedInAt, randomBytes }, tx, {
      id: ownerId,
      method,
      browser: { session: null, userAgent: 'a test' },
      ...(method === 'passkey' && { passkeyId: id }),
      ...(method === 'provider' && { provider }),
    })
  })
  const { origin } = service.settings.baseUrl
  const cookie = `${new Cookies(origin).name('session')}=${token}`
  return withCookie(service, ownerId, cookie)
}
