import type { Operation } from './openapi-types.ts'

/** Whether an operation needs an owner's session. */
export function needsSession({ operationId, responses }: Operation): boolean {
  return !OPEN.has(operationId) && !('303' in responses)
}

/** Operations of the owners' API that work without a session. */
const OPEN: ReadonlySet<string> = new Set([
  'session',
  'signUpOptions',
  'signUp',
  'signUpByProvider',
  'passkeySignInOptions',
  'signInWithPasskey',
  'signInByRecoveryCode',
  'signInByLink',
  'beginProviderSignIn',
  'beginOrganisationSignIn',
  'identityWebhook',
])
