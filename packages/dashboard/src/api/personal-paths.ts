/** The paths of the owners' API that concern only the person who is signed in, and what is public. */
const PERSONAL =
  /^\/api\/(?:v1\/|sign-|session\/|organisations|invitations|account\/(?:passkeys|recovery-codes|sessions|sign-in-providers|onboarding))/

/** Whether requests to a path never act for an organisation. A test compares it with the table of roles. */
export function isPersonal(path: string): boolean {
  return PERSONAL.test(path)
}
