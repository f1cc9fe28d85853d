import type { Page } from 'playwright-core'

/** A passkey as the browser's own tools make it: the user is there, and has verified themselves. */
export interface VirtualAuthenticator {
  /** How many passkeys it holds. */
  count(): Promise<number>
  /** Loses all of them, as a lost phone does. */
  lose(): Promise<void>
}

/** Gives a page an authenticator that keeps discoverable credentials and says yes to everything (WebAuthn section 11). */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const browser = await page.context().newCDPSession(page)
  await browser.send('WebAuthn.enable')
  const { authenticatorId } = await browser.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async count() {
      const { credentials } = await browser.send('WebAuthn.getCredentials', { authenticatorId })
      return credentials.length
    },
    async lose() {
      await browser.send('WebAuthn.clearCredentials', { authenticatorId })
    },
  }
}
