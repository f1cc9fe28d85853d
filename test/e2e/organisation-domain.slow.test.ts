import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OrganisationDomain } from '@countersign/protocol'
import { jsonOf } from '../support/answer.ts'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openWithCookie } from '../support/dashboard.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { outsideEnv } from '../support/https-site.ts'
import { createOrganisation } from '../support/organisations.ts'
import { type Cleanup, claimAgent, startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const DOMAIN = 'acme.example.com'
const RECORD = `_svc-challenge.${DOMAIN}`

/** An organisation, and the DNS that two resolvers see. */
async function scene(t: Cleanup) {
  const dns = [await startDnsServer(t), await startDnsServer(t)]
  const service = await startTestService(t, outsideEnv(dns))
  const acme = await createOrganisation(service)
  const browser = await openBrowser(t)
  return {
    service,
    acme,
    browser,
    identity: `${service.url}/dashboard/o/acme/identity`,
    publish: (line: string) => {
      for (const each of dns) each.set(RECORD, 'TXT', [line])
    },
  }
}

test(
  'an admin sets a domain, publishes the text, checks it, and removes it',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme, browser, identity, publish } = await scene(t)
    const { page, problems } = await openWithCookie(browser, service, acme.admin.self)
    const domain = page.getByRole('region', { name: 'Domain' })
    await assertFit(page, async () => {
      await page.goto(identity)
      await domain.getByLabel('Domain').waitFor()
    })
    await page.getByText('Prove a domain of the organisation, or choose').waitFor()

    await domain.getByLabel('Domain').fill('not a domain')
    await domain.getByRole('button', { name: 'Set the domain' }).click()
    await domain
      .getByRole('alert')
      .getByText(/domain/)
      .waitFor()
    assert.equal(problems.length, 1, 'the refusal')

    // By keyboard alone, from the field to the check.
    await domain.getByLabel('Domain').fill(` https://${DOMAIN.toUpperCase()}/ `)
    await page.keyboard.press('Enter')
    await domain.getByRole('heading', { name: DOMAIN }).waitFor()
    await domain.getByText('Not proven').waitFor()
    const stored = jsonOf<OrganisationDomain>(await acme.admin.get('/api/account/domain'))
    const line = stored.line as string
    await domain.getByText(RECORD).waitFor()
    await tabTo(page, /^TXT record$/)
    await page.keyboard.press('ArrowRight')
    await domain.getByText(stored.url as string).waitFor()
    await tabTo(page, /^Check now$/)
    await page.keyboard.press('Enter')
    await domain.getByText('The text was not found.').waitFor()

    publish(line)
    await domain.getByRole('button', { name: 'Check now' }).click()
    await domain.getByText('The text was found: the domain is proven.').waitFor()
    await domain.getByText('Proven', { exact: true }).waitFor()
    await domain.getByText(/valid until/).waitFor()
    const verified = page.getByRole('listitem', { name: 'Domain' })
    await verified.getByText('Published name: acme.example.com').waitFor()
    assert.equal(await verified.getByRole('button', { name: /^Remove/ }).count(), 0)
    await claimAgent(service, acme.id)
    await assertFit(page, async () => {
      await page.goto(identity)
      await domain.getByText('Proven', { exact: true }).waitFor()
    })

    await domain.getByRole('button', { name: 'Change domain' }).click()
    const change = page.getByRole('dialog', { name: 'Change domain' })
    await change.getByText('counts until the new domain is proven').waitFor()
    await change.getByRole('button', { name: 'Cancel' }).click()
    await domain.getByRole('button', { name: 'Remove domain …' }).click()
    const removal = page.getByRole('alertdialog', { name: `Remove ${DOMAIN}?` })
    await removal.getByText('1 agent falls from grade').waitFor()
    await removal.getByRole('button', { name: 'Remove the domain' }).click()
    await page.getByText(`The domain ${DOMAIN} was removed.`).waitFor()
    await domain.getByLabel('Domain').waitFor()
    assert.equal(await verified.count(), 0)
    assert.equal(problems.length, 1)
  },
)

test(
  'managers see the domain and what to publish, and others nothing of it; a person has no domain',
  BROWSER_MATRIX,
  async (t) => {
    const { service, acme, browser, identity } = await scene(t)
    await acme.admin.send('PUT', '/api/account/domain', { domain: DOMAIN })
    const manager = await acme.addMember('mona', 'manager')
    const viewer = await acme.addMember('vera', 'viewer')

    const asManager = await openWithCookie(browser, service, manager.self)
    await asManager.page.goto(identity)
    const domain = asManager.page.getByRole('region', { name: 'Domain' })
    await domain.getByText(RECORD).waitFor()
    for (const name of ['Check now', 'Change domain', 'Remove domain …']) {
      assert.equal(await domain.getByRole('button', { name }).count(), 0, name)
    }
    assert.deepEqual(asManager.problems, [])

    const asViewer = await openWithCookie(browser, service, viewer.self)
    for (const url of [identity, `${service.url}/dashboard/identity`]) {
      await asViewer.page.goto(url)
      await asViewer.page.getByRole('heading', { name: 'Stored data' }).waitFor()
      assert.equal(await asViewer.page.getByRole('region', { name: 'Domain' }).count(), 0, url)
    }
    assert.deepEqual(asViewer.problems, [])
  },
)
