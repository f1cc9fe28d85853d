/**
 * Why signing in or verifying at a provider failed: the code in the query of the dashboard's page, with the text that the
 * page shows for it. Anyone can write a link to that page, so text never comes from the URL.
 */
export const CALLBACK_FAILURES = {
  'flow-expired': 'This was begun too long ago, or in another browser. Begin again.',
  'signed-out': 'You are no longer signed in. Sign in, then begin again.',
  'other-owner': 'You are no longer signed in as the owner who began this.',
  'unknown-provider': 'This service does not offer that identity provider.',
  'already-linked':
    'This account opens another account here, or you have already linked one at the same provider.',
  'other-account':
    'This person has verified another account with this provider. One person verifies one account.',
  'verification-expired': 'What the provider has verified has expired. Verify it again there.',
  declined: 'You stopped at the provider, or it stopped you.',
  'not-verified': 'The provider could not verify you.',
  'too-weak': 'The provider has not verified you in a way that counts here. Choose a stronger one.',
  'invalid-response': 'The response of the provider is not valid. Begin again.',
  used: 'The result of the provider was used before, or has expired. Begin again.',
  processing: 'The provider is still checking. The verification arrives here by itself.',
  'email-unconfirmed': 'Confirm your primary e-mail address at the provider, then begin again.',
  abandoned: 'You left the provider before you were done. Begin again.',
  'country-unsupported': 'The provider does not verify documents of your country.',
  'camera-needed': 'The provider needs a device with a camera.',
  'document-expired': 'Your document has expired.',
  'document-unsupported': 'The provider does not accept this kind of document.',
  'document-unverified': 'The provider could not verify your document.',
  'document-without-photo': 'Your document has no picture of your face.',
  'selfie-mismatch': 'Your selfie does not match the picture on your document.',
  'selfie-unverified': 'The provider could not verify your selfie.',
  'age-unsupported': 'The provider does not verify people of your age.',
  unavailable:
    'The provider or the database does not respond. Nothing was changed. Try again later.',
  'unknown-outcome':
    'The database was lost at the last moment. Look whether it was done before you try again.',
  internal: 'Something went wrong in the service.',
} as const

export type CallbackFailure = keyof typeof CALLBACK_FAILURES

/** The text for a code from a URL; a general one if the code is unknown. */
export function callbackFailureText(code: string): string {
  return Object.hasOwn(CALLBACK_FAILURES, code)
    ? CALLBACK_FAILURES[code as CallbackFailure]
    : 'It did not work. Begin again.'
}
