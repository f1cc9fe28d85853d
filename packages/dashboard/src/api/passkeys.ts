import {
  type ApprovalOptions,
  encodeBase64Url,
  type Mandate,
  type MandateStatement,
  type Owner,
  type OwnerApproval,
  type SignedUp,
  type SignUpRequest,
} from '@countersign/protocol'
import {
  browserSupportsWebAuthnAutofill,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import { MANDATES_PATH, pathOf } from '../approvals/queries.ts'
import { BrowserError } from './browser-errors.ts'
import { send } from './client.ts'

interface SignedIn {
  readonly owner: Owner
}

/**
 * Signs in with a passkey.
 * @throws ApiError, BrowserError
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
  return startAuthentication({ optionsJSON: options, useBrowserAutofill }).catch((cause) =>
    throwBrowserError(cause),
  )
}

/**
 * Offers passkeys in the autofill of the username field (WebAuthn conditional mediation).
 * @returns null if the browser does not support it, or the user signs in another way
 * @throws ApiError
 */
export async function signInWithPasskeyAutofill(): Promise<SignedIn | null> {
  if (!(await browserSupportsWebAuthnAutofill())) return null
  // Autofill is optional, so its errors are not shown.
  const response = await askForPasskey(true).catch(() => null)
  return response && (await send<SignedIn>('POST', '/api/sign-in/passkey', { response }))
}

/**
 * Creates an account with a passkey.
 * @param name the initial name of the passkey
 * @throws ApiError, BrowserError
 */
export async function signUpWithPasskey(who: SignUpRequest, name: string): Promise<SignedUp> {
  const { options } = await send<{ options: PublicKeyCredentialCreationOptionsJSON }>(
    'POST',
    '/api/sign-up/options',
    who,
  )
  const response = await startRegistration({ optionsJSON: options }).catch((cause) =>
    throwBrowserError(cause),
  )
  return await send<SignedUp>('POST', '/api/sign-up', { response, name })
}

/**
 * Adds a passkey to the signed-in account. Needs a recent sign-in.
 * @param name the name of the passkey
 * @throws ApiError, BrowserError
 */
export async function addPasskey(name: string): Promise<void> {
  const { options } = await send<{ options: PublicKeyCredentialCreationOptionsJSON }>(
    'POST',
    '/api/account/passkeys/options',
  )
  const response = await startRegistration({ optionsJSON: options }).catch((cause) =>
    throwBrowserError(cause),
  )
  await send('POST', '/api/account/passkeys', { response, name })
}

/**
 * Approves a request of an agent with a passkey.
 * @param id of the approval
 * @param challenge the hash of what the page shows, 32 bytes
 * @throws ApiError, BrowserError
 */
export async function approveWithPasskey(
  id: string,
  challenge: Uint8Array,
): Promise<OwnerApproval> {
  const response = await signWithPasskey(`${pathOf(id)}/options`, challenge)
  return await send<OwnerApproval>('POST', `${pathOf(id)}/approve`, { response })
}

/**
 * Makes a standing mandate with a passkey.
 * @param challenge the hash of the statement, 32 bytes
 * @throws ApiError, BrowserError
 */
export async function createMandateWithPasskey(
  { salt: _salt, service: _service, query: _query, ...terms }: MandateStatement,
  challenge: Uint8Array,
): Promise<Mandate> {
  const response = await signWithPasskey(`${MANDATES_PATH}/options`, challenge)
  return await send<Mandate>('POST', MANDATES_PATH, { ...terms, response })
}

/** @param optionsPath where the service names the passkeys that can sign */
async function signWithPasskey(optionsPath: string, challenge: Uint8Array) {
  const { allowCredentials } = await send<ApprovalOptions>('POST', optionsPath)
  const optionsJSON = {
    challenge: encodeBase64Url(challenge),
    allowCredentials: allowCredentials as PublicKeyCredentialRequestOptionsJSON['allowCredentials'],
    userVerification: 'required',
  } as PublicKeyCredentialRequestOptionsJSON
  return startAuthentication({ optionsJSON }).catch((cause) =>
    throwBrowserError(cause, 'Try again.'),
  )
}

/** Browsers' own messages are written for developers. */
function throwBrowserError(
  cause: unknown,
  nextStep = 'Try again, or use another sign-in method.',
): never {
  if (cause instanceof Error) throw new BrowserError(explain(cause, nextStep))
  throw cause
}

function explain(error: Error, nextStep: string): string {
  switch (error.name) {
    case 'InvalidStateError':
      return 'This device already has a passkey for this account.'
    case 'NotAllowedError':
    case 'AbortError':
      return `No passkey was used: the request was cancelled or timed out. ${nextStep}`
    case 'SecurityError':
      return 'The browser does not allow passkeys at this address.'
    case 'NotSupportedError':
    case 'ConstraintError':
      return 'This device cannot create a suitable passkey. Use a phone or a security key.'
    default:
      return `The browser could not use a passkey. ${nextStep}`
  }
}
