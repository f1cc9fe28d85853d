import type { Browser, Locator, Page } from 'playwright-core'
import type { ApprovalWorld } from './approvals.ts'
import type { Passkey } from './authenticator.ts'
import type { PageOptions } from './browser.ts'
import { type OwnerPage, openWithCookie } from './dashboard.ts'
import type { TestService } from './service.ts'

/** Actions on the page of an approval, by its labels. */

/** Opens a page for the owner of a world, whose passkey is in the browser's authenticator. */
export async function openApprover(
  browser: Browser,
  { service, owner, authenticator }: Pick<ApprovalWorld, 'service' | 'owner' | 'authenticator'>,
  options?: PageOptions,
): Promise<OwnerPage> {
  const opened = await openWithCookie(browser, service, owner, options)
  await opened.authenticator.add(authenticator.passkeys.at(-1) as Passkey)
  return opened
}

/** Opens the page of an approval, and waits for a state by its heading. */
export async function openApproval(
  page: Page,
  { url }: Pick<TestService, 'url'>,
  id: string,
  heading = 'Approve once?',
): Promise<void> {
  await page.goto(`${url}/dashboard/approvals/${id}`)
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
}

export function approveButton(page: Page): Locator {
  return page.getByRole('button', { name: 'Approve with passkey' })
}

/** Ticks the box of the first approval for a site, and approves. */
export async function approveOnPage(page: Page): Promise<void> {
  await page.getByRole('checkbox', { name: /^I know / }).check()
  await approveButton(page).click()
  await page.getByRole('heading', { level: 1, name: 'Approved' }).waitFor()
}

/** The labels of what the page shows, in their order, each with its text. */
export function shownItems(page: Page): Promise<[label: string, text: string][]> {
  return page.evaluate(`[...document.querySelectorAll('main dl dt')].map((each) => [
    each.innerText.trim(),
    each.nextElementSibling.querySelector('dl') ? '' : each.nextElementSibling.innerText.trim(),
  ])`)
}
