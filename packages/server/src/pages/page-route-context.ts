import type { VerifyRequest, VerifyResponse } from '@countersign/protocol'
import type { PageReadDeps } from '../agents/find-agent.ts'
import type { BoundChallengeDeps } from '../agents/verification/bound-challenge.ts'
import type { LoggedKeys } from '../log/read-log.ts'
import type { VerifySignedRequest } from './check-request.ts'
import type { Pages } from './load.ts'
import type { PreviewImages } from './preview-images.ts'

/** What the routes of the public pages share. */
export interface PageRouteContext {
  readonly read: PageReadDeps
  readonly pages: Pages
  readonly previews: PreviewImages
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
  readonly verifySignedRequest: VerifySignedRequest
  readonly challenges: BoundChallengeDeps
  readonly loggedKeys: LoggedKeys
}
