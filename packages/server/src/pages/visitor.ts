import type { VerifyRequest, VerifyResponse } from '@countersign/protocol'
import { ownerById } from '../accounts/owner-table.ts'
import { isSessionValid } from '../accounts/owners/session.ts'
import { sessionByHash } from '../accounts/owners/session-table.ts'
import type { PageReadDeps } from '../agents/find-agent.ts'
import type { BoundChallengeDeps } from '../agents/verification/bound-challenge.ts'
import type { StatementVerifiers } from '../agents/verification/verify-signed-request.ts'
import { hashToken } from '../base/hash-token.ts'
import type { Db } from '../database/database.ts'
import { Cookies } from '../http/cookies.ts'
import type { RenderedCache } from '../http/rendered.ts'
import type { LoggedKeys } from '../log/read-log.ts'
import type { FindKeyDeps } from './check-request/find-key.ts'
import type { Pages } from './load-pages.ts'
import type { PreviewImages } from './preview-images.ts'
import type { PageContext } from './views/page-context.ts'

/** What the routes of the public pages share. */
export interface PageRouteContext extends StatementVerifiers {
  readonly read: PageReadDeps
  readonly pages: Pages
  readonly previews: PreviewImages
  readonly renderedPages: RenderedCache
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
  readonly inspect: FindKeyDeps
  readonly challenges: BoundChallengeDeps
  readonly loggedKeys: LoggedKeys
}

export interface VisitorDeps {
  readonly read: { readonly db: Db; readonly now: () => number }
  readonly pages: Pages
}

/**
 * The context of a page for the browser that asks: the header shows who is signed in. Only a browser with a session cookie
 * costs a query, and its page is for no shared cache.
 */
export async function contextFor(
  { read, pages }: VisitorDeps,
  request: { readonly headers: { readonly cookie?: string | undefined } },
  reply: { header(name: string, value: string): unknown },
): Promise<PageContext> {
  reply.header('vary', 'Cookie')
  const token = new Cookies(pages.context.site.baseUrl).readUnparsed(request, 'session')
  if (token === null) return { ...pages.context, visitor: null }
  reply.header('cache-control', 'private, no-cache')
  return { ...pages.context, visitor: await usernameOf(read, token) }
}

/** @returns null if there is no such session. Does not count as use of the session. */
async function usernameOf({ db, now }: VisitorDeps['read'], token: string): Promise<string | null> {
  try {
    const session = await sessionByHash(db, hashToken(token))
    if (session === undefined || !isSessionValid(session, now())) return null
    return (await ownerById(db, session.owner_id))?.username ?? null
  } catch {
    // A certificate is shown from memory while the database is down, so the header must not fail it.
    return null
  }
}
