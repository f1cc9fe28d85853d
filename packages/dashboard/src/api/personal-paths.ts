/** The paths of the owners' API that concern only the person who is signed in, and what is public. */
const PERSONAL =
  /^\/sign-in\/|^\/api\/(?:v1\/|agents\/[^/]+\/card|sign-|session\/|organisations|invitations|account\/(?:passkeys|recovery-codes|sessions|sign-in-providers|onboarding))/

/** Whether requests to a path never act for an organisation. A test compares it with the table of roles. */
export function isPersonal(path: string): boolean {
  return PERSONAL.test(path)
}
