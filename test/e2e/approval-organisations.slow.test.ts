import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startSession } from '../../packages/server/src/accounts/owners/session.ts'
import { approveButton, approveOnPage, openApprover } from '../support/approval-page.ts'
import { allowApprovals, asked, givePasskey, order, progressOf } from '../support/approvals.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openWithCookie, untilHeading } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { createOrganisation } from '../support/organisations.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const HOUR_MS = 3_600_000

test('a manager approves for the organisation, a viewer sees no approvals, and who signed in through it only denies', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const service = await startTestService(t)
  const organisation = await createOrganisation(service)
  await organisation.verify()
  const key = newKey()
  const did = await claimAgent(service, organisation.id, key)
  await allowApprovals({ owner: organisation.admin, did })
  const world = { service, did, key }
  const since = Date.now() - 73 * HOUR_MS
  const manager = await organisation.addMember('grace', 'manager', since)
  const viewer = await organisation.addMember('edsger', 'viewer', since)
  const browser = await openBrowser(t)

  // The address that the agent prints names no owner. It leads a manager to the organisation.
  const { id, approveUrl } = await asked(world)
  const authenticator = await givePasskey(service, manager.ownerId, since)
  const { page } = await openApprover(browser, { service, owner: manager.self, authenticator })
  await page.goto(approveUrl)
  await page.waitForURL(`${service.url}/dashboard/o/acme/approvals/${id}`)
  await untilHeading(page, 'Approve once?')
  await page.getByRole('region', { name: 'Acting for' }).waitFor()
  await assertFit(page, async () => {
    await page.reload()
    await untilHeading(page, 'Approve once?')
  })
  await approveOnPage(page)
  await page.getByText(/^Approved by Owner grace on /).waitFor()
  assert.equal((await progressOf(service, id)).state, 'approved')

  const second = await asked(world, order(2))
  const path = `${service.url}/dashboard/o/acme/approvals/${second.id}`
  const watching = await openWithCookie(browser, service, viewer.self)
  await watching.page.goto(path)
  await untilHeading(watching.page, 'Page not found')
  const navigation = watching.page.getByRole('navigation', { name: 'Dashboard' })
  await navigation.getByRole('link', { name: 'Members' }).waitFor()
  assert.equal(await navigation.getByRole('link', { name: /^Approvals/ }).count(), 0)
  assert.deepEqual(watching.problems, [])

  const session = await service.operator.db.write((tx) =>
    startSession({ now: Date.now, randomBytes }, tx, {
      id: manager.ownerId,
      method: 'provider',
      browser: { session: null, userAgent: 'a test' },
      limitedTo: organisation.id,
    }),
  )
  const cookie = manager.self.cookie.replace(/=.*/, `=${session}`)
  const limited = await openWithCookie(browser, service, { cookie })
  await limited.page.goto(second.approveUrl)
  await untilHeading(limited.page, 'Approve once?')
  await limited.page.getByText('You signed in through your organisation').waitFor()
  assert.equal(await approveButton(limited.page).count(), 0)
  await limited.page.getByRole('button', { name: 'Deny', exact: true }).click()
  await untilHeading(limited.page, 'Denied')
  assert.equal((await progressOf(service, second.id)).state, 'denied')
  assert.deepEqual(limited.problems, [])
})
