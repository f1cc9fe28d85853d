/**
 * Why signing in or verifying at a provider failed: the code in the query of the dashboard's page, with the text that the
 * page shows for it. Anyone can write a link to that page, so text never comes from the URL.
 */
export const CALLBACK_FAILURES = {
  'flow-expired': 'This took too long, or started in another browser. Start again.',
  'signed-out': 'You are no longer signed in. Sign in, then start again.',
  'other-owner': 'You are no longer signed in as the owner who started this.',
  'not-admin': 'Only an admin of the organisation can verify it. Your role may have changed.',
  'unknown-provider': 'This service does not offer that identity provider.',
  'already-linked':
    'This account belongs to another account here, or you have already linked one of this provider.',
  'other-account':
    'This person has verified another account with this provider. One person verifies one account.',
  'verification-expired': 'What the provider has verified has expired. Verify it again there.',
  declined: 'The verification was cancelled at the provider.',
  'not-verified': 'The provider could not verify you.',
  'too-weak':
    'The provider did not verify you with the required assurance. Choose a stronger method there.',
  'invalid-response': 'The response of the provider is not valid. Start again.',
  used: 'The result of the provider was used before, or has expired. Start again.',
  processing: 'The provider is still checking. This page updates automatically.',
  'email-unconfirmed': 'Confirm your primary e-mail address at the provider, then start again.',
  abandoned: 'You left the provider before you finished. Start again.',
  'country-unsupported': 'The provider does not verify documents of your country.',
  'camera-needed': 'The provider needs a device with a camera.',
  'document-expired': 'Your document has expired.',
  'document-unsupported': 'The provider does not accept this kind of document.',
  'document-unverified': 'The provider could not verify your document.',
  'document-without-photo': 'Your document has no picture of your face.',
  'selfie-mismatch': 'Your selfie does not match the picture on your document.',
  'selfie-unverified': 'The provider could not verify your selfie.',
  'age-unsupported': 'The provider does not verify people of your age.',
  'no-role':
    'None of your groups at the identity provider gives you a role here. Ask an admin of your organisation.',
  'too-many-groups':
    'You have so many groups that the identity provider does not send them all. Ask an admin of your organisation to limit the groups in the token.',
  'not-provisioned':
    'The directory of your organisation has no active user for you. Ask an admin of your organisation.',
  'last-emergency-admin':
    'You are the last admin whom the directory of your organisation cannot lock out. Make another member an admin with a passkey first.',
  'organisation-full': 'Your organisation has no place for another member.',
  unavailable:
    'The provider or the database does not respond. Nothing was changed. Try again later.',
  'unknown-outcome':
    'The connection to the database was lost. Check the result before you try again.',
  internal: 'Internal error of the service.',
} as const

export type CallbackFailure = keyof typeof CALLBACK_FAILURES

/** The text for a code from a URL; a general one if the code is unknown. */
export function callbackFailureText(code: string): string {
  return Object.hasOwn(CALLBACK_FAILURES, code)
    ? CALLBACK_FAILURES[code as CallbackFailure]
    : 'It failed. Start again.'
}
