import { randomBytes } from 'node:crypto'
import { issueSignInLink } from '../../../packages/server/src/accounts/owners/sign-in-link.ts'
import {
  type Client,
  proveHuman,
} from '../../../packages/server/test/accounts/providers/support/world.ts'
import type { Authenticator } from '../../../test/support/authenticator.ts'
import { EXAMPLE_URL, type ExampleService, passTime } from './example-service.ts'
import type { Recorder } from './recorder.ts'
import type { World } from './world.ts'

/** Signs Ada in again, for what needs a recent sign-in. */
export async function signInAgain({ ada, authenticator }: World): Promise<void> {
  const { options } = await ada.send('POST', '/api/sign-in/passkey/options', { body: {} })
  const response = authenticator.get(options, {}, authenticator.passkeys[0])
  await ada.send('POST', '/api/sign-in/passkey', { body: { response } })
}

/** Ada signs up, and signs in in all ways. @param first the browser in which she stays signed in */
export async function recordSignIn(
  service: ExampleService,
  first: Recorder,
  authenticator: Authenticator,
): Promise<void> {
  const ada = { username: 'ada', displayName: 'Ada Lovelace' }
  const begun = await first.record('signUpOptions', 'POST', '/api/sign-up/options', { body: ada })
  const signedUp = await first.record<{ recoveryCodes: string[] }>(
    'signUp',
    'POST',
    '/api/sign-up',
    {
      body: { response: authenticator.create(begun.options), name: 'Laptop' },
      status: 201,
    },
  )
  const phone = first.another()
  const options = await phone.record(
    'passkeySignInOptions',
    'POST',
    '/api/sign-in/passkey/options',
    {
      body: {},
    },
  )
  const response = authenticator.get(options.options)
  await phone.record('signInWithPasskey', 'POST', '/api/sign-in/passkey', { body: { response } })
  await phone.record('signOut', 'POST', '/api/session/end', { body: {}, status: 204 })
  const [code] = signedUp.recoveryCodes
  await first.another().record('signInByRecoveryCode', 'POST', '/api/sign-in/recovery-code', {
    body: { username: 'ada', code },
  })
  const deps = { db: service.operator.db, now: Date.now, randomBytes }
  const { url } = await issueSignInLink(deps, EXAMPLE_URL, 1)
  await first.another().record('signInByLink', 'POST', '/api/sign-in/link', {
    body: { token: url.split('#link=')[1] },
  })
  await recordPasskeys(first, authenticator)
}

async function recordPasskeys(ada: Recorder, authenticator: Authenticator): Promise<void> {
  const path = '/api/account/passkeys'
  const added = await ada.record('passkeyOptions', 'POST', `${path}/options`, { body: {} })
  const phone = await ada.record('addPasskey', 'POST', path, {
    body: { response: authenticator.create(added.options), name: 'Phone' },
    status: 201,
  })
  await ada.record('namePasskey', 'PATCH', `${path}/${phone.id}`, { body: { name: 'My phone' } })
  await ada.record('account', 'GET', '/api/account')
  const { sessions } = await ada.send<{ sessions: { id: string; current: boolean }[] }>(
    'GET',
    '/api/account',
  )
  const other = sessions.find(({ current }) => !current)
  await ada.record('endSession', 'DELETE', `/api/account/sessions/${other?.id}`, { status: 204 })
  await ada.record('endOtherSessions', 'DELETE', '/api/account/sessions', { status: 204 })
  await ada.record('removePasskey', 'DELETE', `${path}/${phone.id}`, { status: 204 })
  await ada.record('renewRecoveryCodes', 'POST', '/api/account/recovery-codes', {
    body: {},
    status: 201,
  })
  await ada.record('editAccount', 'PATCH', '/api/account', {
    body: { displayName: 'Ada King' },
  })
  await ada.send('PATCH', '/api/account', { body: { displayName: 'Ada Lovelace' } })
}

/** Sign-in with GitHub: by Grace, who signs up, and by Ada, who adds it to her account. */
export async function recordProviderSignIn({ service, ada, anyone }: World): Promise<void> {
  const grace = anyone.another()
  const back = ({ redirect }: { redirect?: unknown }) => {
    const url = String(redirect).replace('https://github.com', service.github.url)
    return service.github.authorize(url)
  }
  const at = (url: URL) => url.pathname + url.search
  const begun = await grace.record('beginProviderSignIn', 'POST', '/api/sign-in/provider', {
    body: { provider: 'github' },
  })
  await grace.record('signInCallback', 'GET', at(back(begun)), { status: 303 })
  await grace.record('signUpByProvider', 'POST', '/api/sign-up/provider', {
    body: { username: 'grace', displayName: 'Grace Hopper' },
    status: 201,
  })
  await grace.refuse('POST', '/api/agents/token', { body: {}, status: 403 })
  await grace.record('deleteAccount', 'POST', '/api/account/deletion', {
    body: { username: 'grace' },
  })
  const path = '/api/account/sign-in-providers'
  const linked = await ada.record('linkSignInProvider', 'POST', path, {
    body: { provider: 'github' },
  })
  await ada.send('GET', at(back(linked)), { status: 303 })
  await ada.record('unlinkSignInProvider', 'DELETE', `${path}/github`, { status: 204 })
  const verifying = await ada.send('POST', '/api/identity/github/begin', { body: {} })
  await ada.record('identityCallback', 'GET', at(back(verifying)), { status: 303 })
  await ada.record('removeVerification', 'DELETE', '/api/identity/github', { status: 204 })
}

/** A verification whose script runs in the browser, and the one in person that Ada has. */
export async function recordIdentity({ ada }: World): Promise<void> {
  const begun = await ada.record<{ client: Client }>(
    'beginVerification',
    'POST',
    '/api/identity/world/begin',
    { body: { publishName: false } },
  )
  await ada.record('completeVerification', 'POST', '/api/identity/world/complete', {
    body: { result: proveHuman(begun.client, 'ada') },
  })
  await ada.send('DELETE', '/api/identity/world', { status: 204 })
  await ada.record('identity', 'GET', '/api/identity')
  await ada.record('withdrawVerifiedName', 'DELETE', '/api/identity/in-person/name', {
    status: 204,
  })
}

/** What Ada's account has beside agents. */
export async function recordAccount({ ada }: World): Promise<void> {
  const keys = '/api/account/api-keys'
  const key = await ada.record('createApiKey', 'POST', keys, {
    body: { name: 'Backup script', scopes: ['agents:read'], expiresInDays: 90 },
    status: 201,
  })
  await ada.record('listApiKeys', 'GET', keys)
  await ada.record('revokeApiKey', 'DELETE', `${keys}/${key.id}`, { status: 204 })
  await recordEmail(ada)
  const told = await ada.record<{ notifications: { id: string }[] }>(
    'notifications',
    'GET',
    '/api/account/notifications',
  )
  await ada.record('readNotifications', 'POST', '/api/account/notifications/read', {
    body: { ids: told.notifications.slice(0, 1).map(({ id }) => id) },
    status: 204,
  })
  await ada.record('onboarding', 'GET', '/api/account/onboarding')
  await ada.record('editOnboarding', 'PATCH', '/api/account/onboarding', { body: { badge: true } })
  await ada.record('activity', 'GET', '/api/account/activity')
  const { next } = await ada.send<{ next: string }>('GET', '/api/account/events?limit=1')
  const events = `/api/account/events?after=${next}&limit=3`
  await ada.record('accountEvents', 'GET', events)
  await ada.record('accountEvents', 'GET', `${events}&format=ocsf`)
  await ada.record('session', 'GET', '/api/session')
}

async function recordEmail(ada: Recorder): Promise<void> {
  const path = '/api/account/email'
  const added = await ada.record<{ addresses: { id: string }[]; id?: string }>(
    'addEmailAddress',
    'POST',
    `${path}/addresses`,
    { body: { address: 'ada@ada.example' }, status: 201 },
  )
  await ada.record('emailSettings', 'GET', path)
  await ada.record('setEmailPreference', 'PATCH', `${path}/preferences`, {
    body: { kind: 'verification_expiring', enabled: true },
  })
  const id = added.id ?? added.addresses[0]?.id
  passTime(2 * 60_000)
  await ada.record('resendEmailLink', 'POST', `${path}/addresses/${id}/link`, {
    body: {},
    status: 204,
  })
  await ada.record('removeEmailAddress', 'DELETE', `${path}/addresses/${id}`, { status: 204 })
}
