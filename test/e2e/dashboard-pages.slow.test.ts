import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Browser } from 'playwright-core'
import { suspendOwner } from '../../packages/server/src/agents/manage/suspend-owner.ts'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openAsNewcomer, openAsOwner, untilHeading } from '../support/dashboard.ts'
import { giveProfile } from '../support/profile.ts'
import { type Cleanup, claimAgent, startTestService, type TestService } from '../support/service.ts'
import { setStatus } from '../support/set-status.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

/** Text that would run a script or break the page if it were not escaped. */
const HOSTILE = `<img src=x onerror=alert(1)>"'</script><script>alert(2)</script>`

/** Many pages, each scanned twice, which takes minutes on a busy machine. */
const MANY_PAGES = { timeout: 600_000 }

interface Scene {
  readonly service: TestService
  readonly browser: Browser
  readonly owner: number
  readonly dids: Record<'active' | 'suspended' | 'revoked' | 'hostile', string>
}

async function scene(t: Cleanup): Promise<Scene> {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const dids = {
    active: await claimAgent(service, owner, undefined, 'one'),
    suspended: await claimAgent(service, owner, undefined, 'two'),
    revoked: await claimAgent(service, owner, undefined, 'three'),
    hostile: await claimAgent(service, owner, undefined, HOSTILE),
  }
  const long = 'Donaudampfschiffahrtselektrizitätenhauptbetriebswerk'
  const profile = { username: 'a-long-name', displayName: long, description: 'w'.repeat(160) }
  await giveProfile(service, dids.active, profile)
  await giveProfile(service, dids.hostile, {
    username: 'hostile',
    displayName: HOSTILE.slice(0, 64),
    description: HOSTILE,
  })
  await setStatus(service, dids.suspended, 'suspended', 'under_review')
  await setStatus(service, dids.revoked, 'revoked', 'key_compromised')
  return { service, browser: await openBrowser(t), owner, dids }
}

test('axe finds nothing on any page of the dashboard, light or dark, wide or narrow, and text reflows', {
  ...BROWSER_MATRIX,
  ...MANY_PAGES,
}, async (t) => {
  const { service, browser, owner, dids } = await scene(t)
  const { page, problems } = await openAsOwner(browser, service, owner)
  const pages: readonly [string, RegExp][] = [
    ['/agents', /^Agents$/],
    ['/agents?search=nothing-matches-this', /^Agents$/],
    ...['', '/profile', '/channels', '/keys', '/oauth', '/share', '/activity', '/danger'].map(
      (tab) => [`/agents/${dids.active}${tab}`, /Donau/] as [string, RegExp],
    ),
    [`/agents/${dids.suspended}`, /Agent/],
    [`/agents/${dids.revoked}`, /Agent/],
    [`/agents/${dids.revoked}/profile`, /Agent/],
    [`/agents/${dids.revoked}/keys`, /Agent/],
    [`/agents/${dids.revoked}/danger`, /Agent/],
    [`/agents/${dids.hostile}`, /img src/],
    ['/claim', /^Claim/],
    ['/activity', /^Activity$/],
    ['/activity?kind=owner', /^Activity$/],
    ['/identity', /^Identity$/],
    ...['', '/security', '/notifications', '/developers', '/data'].map(
      (tab) => [`/account${tab}`, /^Account$/] as [string, RegExp],
    ),
    ['/notifications', /^Notifications$/],
    ['/webhooks', /^Webhooks$/],
    ['/grant-issuers', /^Grant issuers$/],
    ['/enrolment', /^Enrolment$/],
    ['/enrolment/new', /^New enrolment rule$/],
    ['/enrolment/er_unknown', /^Rule not found$/],
    ['/nowhere', /./],
  ]
  for (const [path, heading] of pages) {
    await t.test(path, async () => {
      await assertFit(page, async () => {
        await page.goto(`${service.url}/dashboard${path}`)
        await untilHeading(page, heading)
        await page.waitForLoadState('networkidle')
      })
    })
  }
  assert.deepEqual(problems, [])
})

test('a suspended owner sees since when and why on every page', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, owner)
  const deps = { db: service.operator.db, now: Date.now }
  await suspendOwner(deps, owner, 'under_review')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
  for (const path of ['/agents', `/agents/${did}`, '/account']) {
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard${path}`)
      const note = page.getByRole('complementary', { name: 'Your account' })
      await note.getByText('Reason: Under review').waitFor()
      await page.waitForLoadState('networkidle')
    })
  }
  await page.goto(`${service.url}/dashboard/agents/${did}`)
  await page.getByText('Reason: Owner’s account is suspended').first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'Reactivate …' }).count(), 0)
  assert.deepEqual(problems, [])
})

test('axe finds nothing in the dialogs', BROWSER_MATRIX, async (t) => {
  const { service, browser, owner, dids } = await scene(t)
  const { page, problems } = await openAsOwner(browser, service, owner)
  const dialogs: readonly [string, string][] = [
    [`/agents/${dids.active}/danger`, 'Suspend …'],
    [`/agents/${dids.active}/danger`, 'Revoke …'],
    ['/identity', 'Remove the verification by In person'],
  ]
  for (const [path, button] of dialogs) {
    await t.test(button, async () => {
      await assertFit(page, async () => {
        await page.goto(`${service.url}/dashboard${path}`)
        await page.getByRole('button', { name: button }).click()
        await page.getByRole('alertdialog').waitFor()
      })
      await page.keyboard.press('Escape')
      await page.getByRole('alertdialog').waitFor({ state: 'hidden' })
    })
  }
  assert.deepEqual(problems, [])
})

test('axe finds nothing on the signed-out pages', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const { page, problems } = await openAsNewcomer(await openBrowser(t))
  for (const [path, heading] of [
    ['/sign-in', 'Sign in'],
    ['/sign-in?failed=dev-low&code=declined&request=req_1', 'Sign in'],
    ['/sign-in?failed=dev-low&code=not-verified&request=req_1', 'Sign in'],
    ['/sign-up', 'Create your account'],
    ['/sign-up?provider=dev-low', 'Create your account'],
  ] as const) {
    await t.test(path, async () => {
      await assertFit(page, async () => {
        await page.goto(`${service.url}/dashboard${path}`)
        await untilHeading(page, heading)
      })
    })
  }
  assert.deepEqual(problems, [])
})

test('texts that owners write are escaped on every page', BROWSER_MATRIX, async (t) => {
  const { service, browser, owner, dids } = await scene(t)
  await service.operator.db.write((tx) =>
    tx.db
      .updateTable('owners')
      .set({ display_name: HOSTILE.slice(0, 64) })
      .execute(),
  )
  const { page, problems } = await openAsOwner(browser, service, owner)
  let alerts = 0
  page.on('dialog', (dialog) => {
    alerts += 1
    void dialog.dismiss()
  })
  const places = ['/agents', `/agents/${dids.hostile}`, '/claim', '/identity', '/account']
  for (const path of places) {
    await page.goto(`${service.url}/dashboard${path}`)
    await untilHeading(page, /./)
    await page.waitForLoadState('networkidle')
    assert.equal(await page.locator('img[src="x"]').count(), 0, path)
    if (path.startsWith('/agents')) {
      assert.ok((await page.locator('body').innerText()).includes('<img src=x onerror=alert(1)>'))
    }
  }
  const text = encodeURIComponent(`Call 0800 ${HOSTILE}`)
  const query = `?failed=${text}&code=${text}&message=${text}&request=${text}`
  for (const [path, outcome] of [
    ['/identity', 'The verification failed. Nothing has changed.'],
    ['/account/security', 'The account was not linked.'],
    ['/sign-in', 'You are not signed in.'],
  ] as const) {
    await page.goto(`${service.url}/dashboard${path}${query}`)
    const alert = page.getByRole('alert').filter({ hasText: outcome })
    await alert.waitFor()
    assert.equal(await alert.innerText(), `${outcome}\n\nIt failed. Start again.`)
    assert.equal(await page.locator('img[src="x"]').count(), 0)
  }
  assert.equal(alerts, 0)
  assert.deepEqual(problems, [])
})

test('an agent can be suspended with the keyboard alone', BROWSER_MATRIX, async (t) => {
  const { service, browser, owner, dids } = await scene(t)
  const { page, problems } = await openAsOwner(browser, service, owner)
  await page.goto(`${service.url}/dashboard/agents`)
  await untilHeading(page, 'Agents')
  await tabTo(page, /^Donau/)
  await page.keyboard.press('Enter')
  await untilHeading(page, /Donau/)
  await tabTo(page, /^Danger zone$/)
  await page.keyboard.press('Enter')
  await tabTo(page, /^Suspend …$/)
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').waitFor()
  await tabTo(page, /^Suspend agent$/)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Reactivate …' }).waitFor()
  const object = (await (await fetch(`${service.url}/api/agents/${dids.active}`)).json()) as {
    status: string
  }
  assert.equal(object.status, 'suspended')
  assert.deepEqual(problems, [])
})

test('a verification that expires soon has a note with a link', BROWSER_MATRIX, async (t) => {
  const { service, browser, owner } = await scene(t)
  const day = 86_400_000
  const values = { verified_at: Date.now() - 300 * day, expires_at: Date.now() + 10 * day }
  await service.operator.db.write((tx) =>
    tx.db.updateTable('identity_verifications').set(values).execute(),
  )
  const { page, problems } = await openAsOwner(browser, service, owner)
  await assertFit(page, async () => {
    await page.goto(`${service.url}/dashboard/claim`)
    await page.getByText('Your verification by In person expires on').waitFor()
  })
  await page.getByRole('link', { name: 'Renew verification' }).click()
  await untilHeading(page, 'Identity')
  await page.getByText('Renewal due').waitFor()
  assert.deepEqual(problems, [])
})
