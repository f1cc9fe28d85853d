import { CodedError, type SignUpRequest } from '@countersign/protocol'
import { reservedNames } from '../identity-of-owner.ts'
import type { IdentityProvider } from '../providers/provider.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { callProvider, getProvider } from '../providers/providers.ts'
import { insertNewOwner, validateOwnerNames } from './add-owner.ts'
import { CallbackRefusal } from './callback-failure.ts'
import { beginFlow, consumeFlow, readFlow } from './flow.ts'
import { notifyOfSignInMethod } from './notify-of-sign-in-method.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { assertStillSignedIn, type Browser, type Session, startSession } from './session.ts'
import { deleteFlow } from './session-table.ts'
import {
  insertSignInIdentity,
  replaceRecoveryCodes,
  signInIdentity,
} from './sign-in-method-table.ts'
import type { NewAccount } from './sign-up.ts'
import { scheduleExpiry } from './unused-account.ts'

/** Sent to the provider instead of a pseudonym of the owner, who is not known before the sign-in. */
const SIGN_IN_PSEUDONYM = 'sign-in'

/** The result of a sign-in at a provider. */
export type ProviderOutcome =
  | { readonly kind: 'signed-in'; readonly token: string }
  /** No owner has linked this provider account. `flow` is the token for the flow cookie, to sign up with it. */
  | { readonly kind: 'unknown'; readonly flow: string }
  | { readonly kind: 'linked' }

/**
 * Begins to sign in with a provider, or to link a provider account to the signed-in owner's account.
 * @param id of the provider
 * @param session of the owner who links, or null to sign in
 * @returns where to send the browser, and the token for the flow cookie
 * @throws CodedError NOT_FOUND if owners cannot sign in with it, UNAVAILABLE if the provider fails
 */
export async function beginProviderSignIn(
  deps: OwnerDeps,
  id: string,
  session: Session | null,
): Promise<{ redirect: string; token: string }> {
  const provider = getSignInProvider(deps, id)
  const { redirect, state } = await callProvider(provider, () =>
    provider.begin(signInContext(deps, provider)),
  )
  if (redirect === undefined) throw new Error(`${id} has no page to sign in at`)
  const ownerId = session?.ownerId ?? null
  const token = await beginFlow(deps, { kind: 'provider-sign-in', ownerId, provider: id, state })
  return { redirect, token }
}

/**
 * Completes a sign-in with a provider: signs in, links the account, or begins a sign-up if the account is unknown.
 * @param flow the token from the flow cookie, or null
 * @param url the callback URL with its query
 * @throws CodedError VALIDATION_ERROR if the flow or the provider's response is not valid, NOT_FOUND if owners cannot
 *   sign in with the provider, UNAVAILABLE if the provider fails
 */
export async function completeProviderSignIn(
  deps: OwnerDeps,
  id: string,
  { flow, url }: { readonly flow: string | null; readonly url: URL },
  browser: Browser,
): Promise<ProviderOutcome> {
  const provider = getSignInProvider(deps, id)
  const kinds = ['provider-sign-in'] as const
  const begun = await consumeFlow<object>(deps, flow, { kinds, provider: id })
  const { issuer, subject } = await callProvider(provider, () =>
    provider.complete(signInContext(deps, provider), { url }, begun.state),
  )
  const subjectHash = deps.pepper.hash(id, issuer, subject)
  if (begun.ownerId === null) return signInOrBeginSignUp(deps, id, subjectHash, browser)
  if (browser.session?.ownerId !== begun.ownerId) {
    throw new CallbackRefusal(
      'other-owner',
      'You are no longer signed in as the owner who started this.',
    )
  }
  await linkProvider(deps, provider, subjectHash, browser.session)
  return { kind: 'linked' }
}

/**
 * Creates an account for a provider account that has just been authenticated.
 * @param flow the token from the flow cookie, or null
 * @throws CodedError VALIDATION_ERROR if a name is invalid or taken, or the provider account is already linked
 */
export async function signUpWithProvider(
  deps: OwnerDeps,
  flow: string | null,
  request: SignUpRequest,
  browser: Browser,
): Promise<NewAccount> {
  validateOwnerNames(deps.site.naming, request, reservedNames(deps))
  const kinds = ['provider-sign-up'] as const
  const { provider, state, hash } = await readFlow<{ subjectHash: string }>(deps, flow, { kinds })
  const { codes, hashes } = newRecoveryCodes(deps.randomBytes)
  return deps.db.write(async (tx) => {
    const at = deps.now()
    // Deleted in the same transaction: if the username is taken, the flow stays, and the owner can choose another.
    if ((await deleteFlow(tx, hash)) === undefined) throw alreadyLinked()
    const owner = await insertNewOwner(tx, deps.pepper, request, at)
    const linked = await insertSignInIdentity(tx, {
      provider: provider as string,
      subject_hash: Buffer.from(state.subjectHash, 'base64url'),
      owner_id: owner.id,
      created_at: at,
    })
    if (!linked) throw alreadyLinked()
    await replaceRecoveryCodes(tx, owner.id, hashes, at)
    await scheduleExpiry(tx, owner.id, at)
    const token = await startSession(deps, tx, {
      id: owner.id,
      method: 'provider',
      browser,
      isNewAccount: true,
      provider: provider as string,
    })
    return { owner, token, recoveryCodes: codes }
  })
}

function alreadyLinked(): CodedError {
  return new CodedError(
    'VALIDATION_ERROR',
    'This account already belongs to an account here. Sign in with it.',
  )
}

async function signInOrBeginSignUp(
  deps: OwnerDeps,
  provider: string,
  subjectHash: Uint8Array,
  browser: Browser,
): Promise<ProviderOutcome> {
  const token = await deps.db.write(async (tx) => {
    const known = await signInIdentity(tx.db, provider, subjectHash)
    if (known === undefined) return undefined
    return startSession(deps, tx, { id: known.owner_id, method: 'provider', browser, provider })
  })
  if (token === undefined) {
    const state = { subjectHash: Buffer.from(subjectHash).toString('base64url') }
    const flow = await beginFlow(deps, { kind: 'provider-sign-up', ownerId: null, provider, state })
    return { kind: 'unknown', flow }
  }
  return { kind: 'signed-in', token }
}

async function linkProvider(
  deps: OwnerDeps,
  { id, label }: IdentityProvider,
  subjectHash: Uint8Array,
  session: Session,
): Promise<void> {
  const { ownerId } = session
  const row = { provider: id, subject_hash: subjectHash, owner_id: ownerId, created_at: deps.now() }
  const linked = await deps.db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    const inserted = await insertSignInIdentity(tx, row)
    if (inserted) {
      await notifyOfSignInMethod(
        tx,
        ownerId,
        'added',
        { method: 'provider', provider: id },
        row.created_at,
      )
    }
    return inserted
  })
  if (linked) return
  throw new CallbackRefusal(
    'already-linked',
    `This account at ${label} belongs to another account here, or you have already linked one of ${label}.`,
  )
}

function getSignInProvider(deps: OwnerDeps, id: string): IdentityProvider {
  const provider = getProvider(deps.providers, id)
  if (provider.signIn) return provider
  throw new CodedError('NOT_FOUND', `You cannot sign in with ${provider.label} here.`)
}

function signInContext({ site }: OwnerDeps, { id }: IdentityProvider) {
  return { ownerId: SIGN_IN_PSEUDONYM, callbackUrl: `${site.baseUrl}/sign-in/callback/${id}` }
}
