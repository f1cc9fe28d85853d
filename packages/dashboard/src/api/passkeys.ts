import type { Owner, SessionState, SignedUp, SignUpRequest } from '@countersign/protocol'
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import { send } from './client.ts'
import { Failure } from './failure.ts'

interface SignedIn {
  readonly owner: Owner
}

/** @returns why passkeys cannot work here, in a sentence; null where they can */
export function whyNoPasskeys(service: SessionState['service']): string | null {
  if (!browserSupportsWebAuthn()) return 'This browser cannot use passkeys.'
  if (service.passkeys) return null
  return 'Browsers allow no passkeys at this address: they need a host name, and https everywhere but on localhost.'
}

/**
 * Signs in with a passkey that the person chooses.
 * @throws ApiError, Failure
 */
export async function signInWithPasskey(): Promise<SignedIn> {
  const response = await askForPasskey(false)
  return await send<SignedIn>('POST', '/api/sign-in/passkey', { response })
}

async function askForPasskey(useBrowserAutofill: boolean) {
  const { options } = await send<{ options: PublicKeyCredentialRequestOptionsJSON }>(
    'POST',
    '/api/sign-in/passkey/options',
  )
  return startAuthentication({ optionsJSON: options, useBrowserAutofill }).catch(inWords)
}

/**
 * Offers passkeys where the browser completes the username (WebAuthn's conditional mediation).
 * @returns null where the browser cannot do it, or the person signs in by another way
 * @throws ApiError
 */
export async function offerPasskeys(): Promise<SignedIn | null> {
  if (!(await browserSupportsWebAuthnAutofill())) return null
  // An offer: where it cannot be made, nobody misses it.
  const response = await askForPasskey(true).catch(() => null)
  return response && (await send<SignedIn>('POST', '/api/sign-in/passkey', { response }))
}

/**
 * Makes a passkey and the account that it opens.
 * @param name what the passkey is called at first
 * @throws ApiError, Failure
 */
export async function signUpWithPasskey(who: SignUpRequest, name: string): Promise<SignedUp> {
  const { options } = await send<{ options: PublicKeyCredentialCreationOptionsJSON }>(
    'POST',
    '/api/sign-up/options',
    who,
  )
  const response = await startRegistration({ optionsJSON: options }).catch(inWords)
  return await send<SignedUp>('POST', '/api/sign-up', { response, name })
}

/**
 * Makes a further passkey for the account that is signed in. Needs a recent sign-in.
 * @param name what its owner calls it
 * @throws ApiError, Failure
 */
export async function addPasskey(name: string): Promise<void> {
  const { options } = await send<{ options: PublicKeyCredentialCreationOptionsJSON }>(
    'POST',
    '/api/account/passkeys/options',
  )
  const response = await startRegistration({ optionsJSON: options }).catch(inWords)
  await send('POST', '/api/account/passkeys', { response, name })
}

/** What a browser says of passkeys is for programmers. */
function inWords(cause: unknown): never {
  if (cause instanceof Error) throw new Failure(explain(cause))
  throw cause
}

function explain(error: Error): string {
  switch (error.name) {
    case 'InvalidStateError':
      return 'This device already has a passkey for this account.'
    case 'NotAllowedError':
    case 'AbortError':
      return 'No passkey was used: it was cancelled, or it took too long. Try again, or take another way.'
    case 'SecurityError':
      return 'The browser allows no passkeys at this address.'
    case 'NotSupportedError':
    case 'ConstraintError':
      return 'This device cannot make a passkey of the kind that is needed. Use a phone or a security key.'
    default:
      return 'The browser could not use a passkey. Try again, or take another way.'
  }
}
