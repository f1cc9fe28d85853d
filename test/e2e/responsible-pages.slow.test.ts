import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../support/answer.ts'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openWithCookie } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { createOrganisation, type Member } from '../support/organisations.ts'
import {
  type Cleanup,
  claimBody,
  postJson,
  startTestService,
  type TestService,
} from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { untilTicked } from '../support/until.ts'

/** A member claims an agent, for which they are responsible then. @returns its DID */
async function claimBy(service: TestService, member: Member, label = 'main'): Promise<string> {
  const issued = await member.post('/api/agents/token')
  assert.equal(issued.status, 201, issued.text)
  const body = claimBody(jsonOf<{ claimToken: string }>(issued).claimToken, newKey(), label)
  const claimed = await postJson(`${service.url}/api/v1/claim`, body)
  assert.equal(claimed.status, 200)
  return ((await claimed.json()) as { svcDid: string }).svcDid
}

/** An organisation with an agent of a manager, and one for which nobody is responsible. */
async function scene(t: Cleanup) {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const mona = await acme.addMember('mona', 'manager')
  const vera = await acme.addMember('vera', 'viewer')
  const withMona = await claimBy(service, mona)
  const withNobody = await claimBy(service, mona, 'orphan')
  assert.equal(
    (await mona.send('PATCH', `/api/account/agents/${withNobody}`, { responsible: null })).status,
    200,
  )
  const browser = await openBrowser(t)
  const agents = `${service.url}/dashboard/o/acme/agents`
  return { service, acme, mona, vera, withMona, withNobody, browser, agents }
}

test(
  'the list shows who is responsible, and finds agents by it; a notice leads there',
  BROWSER_MATRIX,
  async (t) => {
    const { browser, service, acme, agents, mona, vera } = await scene(t)
    const { page, problems } = await openWithCookie(browser, service, vera.self)
    const rows = page.getByRole('main').getByRole('listitem')
    await assertFit(page, async () => {
      await page.goto(agents)
      await rows.getByText('Owner mona').waitFor()
      await rows.getByText('Nobody').waitFor()
    })
    await page.getByLabel('Responsible').selectOption({ label: 'Nobody' })
    await page.waitForURL('**/agents?responsible=none')
    await page.getByText('1 agent shown.').waitFor()
    await rows.getByText('orphan').first().waitFor()
    await page.getByLabel('Responsible').selectOption({ label: 'Owner mona' })
    await page.waitForURL(/responsible=mb_/)
    await rows.getByText('Owner mona').waitFor()
    await page.getByLabel('Responsible').selectOption({ label: 'Owner vera' })
    await page.getByText('You have no agent of this member.').waitFor()
    await page.goto(`${agents}?responsible=everybody`)
    await rows.getByText('Owner mona').waitFor()

    const left = await acme.admin.send('DELETE', `/api/account/members/${mona.membership}`)
    assert.equal(left.status, 200, left.text)
    await untilTicked(service, async () => {
      const { text } = await vera.get('/api/account/notifications')
      return text.includes('responsible_missing')
    })
    await page.goto(`${service.url}/dashboard/o/acme/notifications`)
    await page.getByRole('link', { name: /1 agent has no responsible person$/ }).click()
    await page.waitForURL('**/o/acme/agents?responsible=none')
    await page.getByText('2 agents shown.').waitFor()
    assert.deepEqual(problems, [])
  },
)

test(
  'a manager makes a member responsible, and a viewer only sees who it is',
  BROWSER_MATRIX,
  async (t) => {
    const { browser, service, agents, mona, vera, withNobody } = await scene(t)
    const { page, problems } = await openWithCookie(browser, service, mona.self)
    const section = page.getByRole('region', { name: 'Responsible person' })
    await assertFit(page, async () => {
      await page.goto(`${agents}/${withNobody}`)
      await section.getByText('Nobody.').waitFor()
      await section.getByText('suspended after 14 days').waitFor()
    })
    await tabTo(page, /^Choose a member$/)
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Responsible person' })
    await dialog.getByLabel('Member').selectOption({ label: 'Owner vera (@vera)' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await section.getByText('Owner vera').waitFor()
    await section.getByRole('button', { name: 'Change' }).waitFor()

    const viewer = await openWithCookie(browser, service, vera.self)
    await viewer.page.goto(`${agents}/${withNobody}`)
    const seen = viewer.page.getByRole('region', { name: 'Responsible person' })
    await seen.getByText('Owner vera').waitFor()
    assert.equal(await seen.getByRole('button').count(), 0)
    assert.deepEqual([...problems, ...viewer.problems], [])
  },
)

test(
  'an admin changes after how many days agents are suspended, others see it, a person has no such setting',
  BROWSER_MATRIX,
  async (t) => {
    const { browser, service, acme, vera } = await scene(t)
    const settings = `${service.url}/dashboard/o/acme/account`
    const { page, problems } = await openWithCookie(browser, service, acme.admin.self)
    const section = page.getByRole('region', { name: 'Responsible persons' })
    await assertFit(page, async () => {
      await page.goto(settings)
      await section.getByLabel('After how many days').waitFor()
    })
    const days = section.getByLabel('After how many days')
    assert.equal(await days.inputValue(), '14')
    await days.fill('91')
    await section.getByText('Enter a number from 1 to 90.').waitFor()
    await days.fill('30')
    await section.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('Settings saved.').waitFor()

    const viewer = await openWithCookie(browser, service, vera.self)
    await viewer.page.goto(settings)
    await viewer.page.getByText('are suspended after 30 days.').waitFor()
    await section.getByLabel('Suspend agents without a responsible person').uncheck()
    await section.getByRole('button', { name: 'Save settings' }).click()
    await section.getByText('They stay active.').waitFor()
    await viewer.page.reload()
    await viewer.page.getByText('Agents without a responsible person stay active.').waitFor()

    await viewer.page.goto(`${service.url}/dashboard/account`)
    await viewer.page.getByRole('heading', { name: 'Profile' }).waitFor()
    assert.equal(await viewer.page.getByRole('region', { name: 'Responsible persons' }).count(), 0)
    assert.deepEqual([...problems, ...viewer.problems], [])
  },
)
