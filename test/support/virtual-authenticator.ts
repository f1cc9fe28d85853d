import type { Page } from 'playwright-core'
import type { Passkey } from './authenticator.ts'

/** A virtual authenticator of the browser's DevTools, with user presence and verification. */
export interface VirtualAuthenticator {
  /** The number of stored passkeys. */
  count(): Promise<number>
  /** Stores a passkey that was created elsewhere. */
  add(passkey: Passkey): Promise<void>
  /** Deletes all passkeys, like losing a phone. */
  lose(): Promise<void>
}

/** Adds an authenticator to a page that stores discoverable credentials and confirms every request (WebAuthn section 11). */
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
    async add({ id, key, rpId, userHandle, counter }) {
      const credential = {
        credentialId: id.toString('base64'),
        isResidentCredential: true,
        rpId,
        privateKey: key.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
        userHandle: Buffer.from(userHandle, 'base64url').toString('base64'),
        signCount: counter,
      }
      await browser.send('WebAuthn.addCredential', { authenticatorId, credential })
    },
    async lose() {
      await browser.send('WebAuthn.clearCredentials', { authenticatorId })
    },
  }
}
