import assert from 'node:assert/strict'
import type { Browser, Locator, Page } from 'playwright-core'
import { newPage, type PageOptions, type WatchedPage } from './browser.ts'
import type { TestService } from './service.ts'
import { type SignedInOwner, signIn } from './signed-in.ts'
import { until } from './until.ts'
import { addVirtualAuthenticator, type VirtualAuthenticator } from './virtual-authenticator.ts'

/** Actions of an owner on the dashboard, by the labels on its pages. */

export interface OwnerPage extends WatchedPage {
  readonly authenticator: VirtualAuthenticator
}

/** Opens a page for a visitor with an authenticator and no account. */
export async function openAsNewcomer(browser: Browser, options?: PageOptions): Promise<OwnerPage> {
  const watched = await newPage(browser, options)
  return { ...watched, authenticator: await addVirtualAuthenticator(watched.page) }
}

/** Opens a page for an owner who is signed in. */
export async function openAsOwner(
  browser: Browser,
  service: TestService,
  ownerId: number,
  options?: PageOptions,
): Promise<OwnerPage> {
  return openWithCookie(browser, service, await signIn(service, ownerId), options)
}

/** Opens a page with the session of an owner. */
export async function openWithCookie(
  browser: Browser,
  service: TestService,
  { cookie }: Pick<SignedInOwner, 'cookie'>,
  options?: PageOptions,
): Promise<OwnerPage> {
  const opened = await openAsNewcomer(browser, options)
  const [name = '', value = ''] = cookie.split('=')
  await opened.page.context().addCookies([{ name, value, url: service.url }])
  return opened
}

/** Waits for a page with a level-1 heading. */
export async function untilHeading(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

/** Waits until the focused element has this text. Pages move the focus after they have rendered new content. */
export async function untilFocused(page: Page, name: RegExp): Promise<void> {
  let focused = ''
  const hasCome = async () => {
    focused = await page.evaluate<string>('document.activeElement.innerText.trim()')
    return name.test(focused)
  }
  await until(hasCome, 30_000).catch(() => assert.match(focused, name))
}

/** Waits until an element is visible. Pages scroll to it after they have rendered it. @param below the lowest position of its top, in CSS pixels */
export async function untilInSight(what: Locator, below: number): Promise<void> {
  let y = -1
  const isInSight = async () => {
    y = (await what.boundingBox())?.y ?? -1
    return y >= 0 && y < below
  }
  await until(isInSight, 30_000).catch(() => assert.fail(`${what} is at ${y}`))
}

/** Creates an account with a passkey. @returns the recovery codes */
export async function signUp(page: Page, url: string, username: string): Promise<string[]> {
  await page.goto(`${url}/dashboard/sign-up`)
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByLabel('Username').fill(username)
  await page.getByRole('button', { name: 'Create account with a passkey' }).click()
  await untilHeading(page, 'Save your recovery codes')
  const codes = await page
    .getByRole('list', { name: 'Recovery codes' })
    .getByRole('listitem')
    .allTextContents()
  assert.equal(codes.length, 10)
  await page.getByRole('button', { name: /I saved the codes/ }).click()
  await untilHeading(page, 'Identity')
  return codes
}

/** Verifies with a development provider under a name. */
export async function verifyWith(page: Page, label: string, name: string): Promise<void> {
  await page.getByRole('button', { name: `Verify with ${label}` }).click()
  await page.getByLabel('Who are you?').fill(name)
  await page.getByRole('button', { name: 'Continue as this person' }).click()
  await page.getByText(`You are verified by ${label}.`).waitFor()
}

/** Opens a tab of the agent page. */
export async function openTab(page: Page, tab: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Agent' })
    .getByRole('link', { name: tab, exact: true })
    .click()
  await page.getByRole('region', { name: `${tab} tab` }).waitFor()
}

/** Opens a section of the dashboard through its navigation. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Dashboard' })
    .getByRole('link', { name: place, exact: true })
    .click()
}

/** Signs out through the owner's menu. */
export async function signOut(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await untilHeading(page, 'Sign in')
}

/** Closes the toast with this text, if it is still there. It covers a part of the page, and has less contrast while it fades. */
export async function dismissToast(page: Page, text: string): Promise<void> {
  const toast = page.getByRole('dialog', { name: text })
  await toast
    .getByRole('button', { name: 'Dismiss' })
    .click({ timeout: 5_000 })
    .catch(() => undefined)
  await toast.waitFor({ state: 'hidden' })
}
