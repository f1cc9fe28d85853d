import { CodedError, type SignUpRequest } from '@countersign/protocol'
import type { IdentityProvider } from '../providers/provider.ts'
import { callProvider, getProvider } from '../providers/providers.ts'
import { insertNewOwner, validateOwnerNames } from './add-owner.ts'
import { beginFlow, consumeFlow, readFlow } from './flow.ts'
import type { OwnerDeps } from './owner-deps.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { assertStillSignedIn, type Browser, type Session, startSession } from './session.ts'
import { deleteFlow } from './session-table.ts'
import {
  insertSignInIdentity,
  replaceRecoveryCodes,
  signInIdentity,
} from './sign-in-method-table.ts'
import type { NewAccount } from './sign-up.ts'

/** Every owner is the same to a provider that is only asked who comes back. */
const ANYONE = 'sign-in'

/** What came of a way to a provider and back. */
export type ProviderOutcome =
  | { readonly kind: 'signed-in'; readonly token: string }
  /** Nobody here is known by that account: what the browser keeps until it has chosen a username. */
  | { readonly kind: 'unknown'; readonly flow: string }
  | { readonly kind: 'linked' }

/**
 * Begins to sign in by a provider, or to link an account there to the owner's.
 * @param session of the owner who links, or null
 * @throws CodedError NOT_FOUND, UNAVAILABLE
 */
export async function beginProviderSignIn(
  deps: OwnerDeps,
  id: string,
  session: Session | null,
): Promise<{ redirect: string; token: string }> {
  const provider = getSignInProvider(deps, id)
  const { redirect, state } = await callProvider(provider, () =>
    provider.begin(contextOf(deps, provider)),
  )
  if (redirect === undefined) throw new Error(`${id} has no page to sign in at`)
  const ownerId = session?.ownerId ?? null
  const token = await beginFlow(deps, { kind: 'provider-sign-in', ownerId, provider: id, state })
  return { redirect, token }
}

/**
 * Completes it: signs in, links, or finds that nobody is known by that account yet.
 * @param flow what the browser kept
 * @param url where the browser came back, with its query
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAVAILABLE
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
    provider.complete(contextOf(deps, provider), { url }, begun.state),
  )
  const subjectHash = deps.pepper.hash(id, issuer, subject)
  if (begun.ownerId === null) return signInOrUp(deps, id, subjectHash, browser)
  if (browser.session?.ownerId !== begun.ownerId) {
    throw new CodedError('VALIDATION_ERROR', 'You are no longer signed in as who began this.')
  }
  await link(deps, provider, subjectHash, browser.session)
  return { kind: 'linked' }
}

/**
 * Makes an account for whom a provider has just named.
 * @param flow what the browser kept
 * @throws CodedError VALIDATION_ERROR
 */
export async function signUpWithProvider(
  deps: OwnerDeps,
  flow: string | null,
  request: SignUpRequest,
  browser: Browser,
): Promise<NewAccount> {
  validateOwnerNames(deps.site.naming, request)
  const kinds = ['provider-sign-up'] as const
  const { provider, state, hash } = await readFlow<{ subjectHash: string }>(deps, flow, { kinds })
  const { codes, hashes } = newRecoveryCodes(deps.randomBytes)
  return deps.db.write(async (tx) => {
    const at = deps.now()
    // Taken with what comes of it: whoever chose a username that is taken chooses again, and begins nothing anew.
    if ((await deleteFlow(tx, hash)) === undefined) throw alreadyOpen()
    const owner = await insertNewOwner(tx, request, at)
    const linked = await insertSignInIdentity(tx, {
      provider: provider as string,
      subject_hash: Buffer.from(state.subjectHash, 'base64url'),
      owner_id: owner.id,
      created_at: at,
    })
    if (!linked) throw alreadyOpen()
    await replaceRecoveryCodes(tx, owner.id, hashes, at)
    const token = await startSession(deps, tx, { id: owner.id, method: 'provider', browser })
    return { owner, token, recoveryCodes: codes }
  })
}

function alreadyOpen(): CodedError {
  return new CodedError('VALIDATION_ERROR', 'This account opens one here already. Sign in with it.')
}

async function signInOrUp(
  deps: OwnerDeps,
  provider: string,
  subjectHash: Uint8Array,
  browser: Browser,
): Promise<ProviderOutcome> {
  const token = await deps.db.write(async (tx) => {
    const known = await signInIdentity(tx.db, provider, subjectHash)
    return known && startSession(deps, tx, { id: known.owner_id, method: 'provider', browser })
  })
  if (token === undefined) {
    const state = { subjectHash: Buffer.from(subjectHash).toString('base64url') }
    const flow = await beginFlow(deps, { kind: 'provider-sign-up', ownerId: null, provider, state })
    return { kind: 'unknown', flow }
  }
  return { kind: 'signed-in', token }
}

async function link(
  deps: OwnerDeps,
  { id, label }: IdentityProvider,
  subjectHash: Uint8Array,
  session: Session,
): Promise<void> {
  const { ownerId } = session
  const row = { provider: id, subject_hash: subjectHash, owner_id: ownerId, created_at: deps.now() }
  const linked = await deps.db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    return insertSignInIdentity(tx, row)
  })
  if (linked) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `This account at ${label} opens another account here, or you have linked one of ${label} already.`,
  )
}

function getSignInProvider(deps: OwnerDeps, id: string): IdentityProvider {
  const provider = getProvider(deps.providers, id)
  if (provider.signIn) return provider
  throw new CodedError('NOT_FOUND', `Nobody signs in here with ${provider.label}.`)
}

function contextOf({ site }: OwnerDeps, { id }: IdentityProvider) {
  return { ownerId: ANYONE, callbackUrl: `${site.baseUrl}/sign-in/callback/${id}` }
}
