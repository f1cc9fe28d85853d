import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { AgentHistory, Card } from '@countersign/protocol'
import type { Page } from 'playwright-core'
import { newPage, openBrowser } from '../support/browser.ts'
import {
  goTo,
  openAsNewcomer,
  openAsOwner,
  openTab,
  signUp,
  untilHeading,
  untilInSight,
  verifyWith,
} from '../support/dashboard.ts'
import { startDnsServer, type TestDns } from '../support/dns-server.ts'
import { outsideEnv, startHttpsSite } from '../support/https-site.ts'
import { newKey } from '../support/key.ts'
import {
  claimAgent,
  claimBody,
  postJson,
  startTestService,
  type TestService,
} from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { until } from '../support/until.ts'

const DOMAIN = 'agents.example.com'

async function getJson<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T
}

async function startThreeDns(t: TestContext): Promise<[TestDns, TestDns, TestDns]> {
  return Promise.all([startDnsServer(t), startDnsServer(t), startDnsServer(t)])
}

/** The value of the copy field with this label. */
async function shownAs(page: Page, label: string): Promise<string> {
  const copy = page.getByRole('button', { name: `Copy: ${label}`, exact: true })
  return copy.locator('xpath=../following-sibling::code').innerText()
}

/** The results by perspective, once the last check begins with this text. */
async function seen(page: Page, ...words: readonly string[]): Promise<string[]> {
  const region = page.getByRole('region', { name: 'Checks' })
  const items = region.getByRole('list').first().getByRole('listitem')
  let views: string[] = []
  const beginnings = () => views.map((each) => each.split('\n')[0])
  const areThese = async () => {
    views = await items.allInnerTexts()
    return isDeepStrictEqual(beginnings(), words)
  }
  await until(areThese, 30_000).catch(() => assert.deepEqual(beginnings(), words))
  return views
}

async function checkNow(page: Page): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().endsWith('/check'))
  await page.getByRole('button', { name: 'Check now' }).click()
  await answered
}

async function typesInHistory(page: Page, service: TestService, did: string): Promise<string[]> {
  const answer = await page.request.get(`${service.url}/api/account/agents/${did}/history`)
  const { events } = (await answer.json()) as AgentHistory
  return events.map(({ type, facts }) =>
    type === 'agent.grade_changed' ? `${facts.from} to ${facts.to}` : type,
  )
}

test('a verified domain raises an agent from C to A until removed', BROWSER_MATRIX, async (t) => {
  const dns = await startThreeDns(t)
  const service = await startTestService(t, outsideEnv(dns))
  const browser = await openBrowser(t)
  const { page, problems } = await openAsNewcomer(browser)
  const certificate = await newPage(browser)
  const begun = new Date()
  let did = ''

  await t.test('an owner of substantial assurance claims an agent, which is a C', async () => {
    await signUp(page, service.url, 'ada')
    await verifyWith(page, 'Development, substantial assurance', 'ada')
    await goTo(page, 'Claim')
    await page.getByRole('button', { name: 'Create claim token' }).click()
    const token = await shownAs(page, 'Claim token')
    const claimed = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
    did = ((await claimed.json()) as { svcDid: string }).svcDid
    await page.getByRole('link', { name: 'Open the agent' }).click()
    await page.getByText('No verified channels').waitFor()
    await page.getByRole('img', { name: 'Grade C' }).first().waitFor()
  })

  await t.test('the kinds are told with what they would do to the grade', async () => {
    await page.getByRole('link', { name: 'Add a channel' }).last().click()
    await untilHeading(page, 'Add a channel')
    const [strong, weak] = [page.getByRole('group').first(), page.getByRole('group').last()]
    await strong.getByText('Raises the grade from C to A').waitFor()
    await weak.getByText('Raises the grade from C to B').waitFor()
  })

  await t.test(
    'what cannot be proven is refused beside the field, in the service’s words',
    async () => {
      await page.getByRole('textbox', { name: 'Domain' }).fill('co.uk')
      await page.getByRole('button', { name: 'Show what to publish' }).click()
      await page
        .getByRole('textbox', { name: 'Domain' })
        .and(page.locator('[aria-invalid]'))
        .waitFor()
      assert.deepEqual(takeRefusals(problems), ['400'])
    },
  )

  await t.test(
    'before the record is there, the page shows what each of three resolvers saw',
    async () => {
      await page.getByRole('textbox', { name: 'Domain' }).fill(`https://${DOMAIN}/`)
      await page.getByRole('button', { name: 'Show what to publish' }).click()
      await untilHeading(page, DOMAIN)
      dns[2].fail('*', 'SERVFAIL')
      await checkNow(page)
      await page.getByText('Not found yet').first().waitFor()
      const views = await seen(page, 'Not found yet', 'Not found yet', 'No answer')
      for (const [i, view] of views.entries()) {
        assert.ok(view.includes(dns[i]?.address as string), view)
      }
      dns[2].fail('*', null)
    },
  )

  await t.test('with exactly what the page shows in the DNS, the agent is an A', async () => {
    const [name, value] = [await shownAs(page, 'Name'), await shownAs(page, 'Value')]
    assert.equal(await shownAs(page, 'Type'), 'TXT')
    for (const each of dns) each.set(name, 'TXT', [value])
    await checkNow(page)
    await page.getByRole('heading', { name: 'Channel verified' }).waitFor()
    await page.getByText(/changed from C to A/).waitFor()
    await seen(page, 'Found', 'Found', 'Found')
    await page.getByRole('link', { name: 'Open the agent' }).click()
    await page.getByRole('img', { name: 'Grade A' }).first().waitFor()
    const channels = page.getByRole('region', { name: 'Channels' }).last()
    await openTab(page, 'Channels')
    await channels.getByText('Verified', { exact: true }).waitFor()
    await openTab(page, 'Activity')
    await page.getByText(`Domain ${DOMAIN} was verified.`).waitFor()
    await page.getByText('The grade changed from C to A.').waitFor()
  })

  await t.test('anyone sees it: on the certificate with its date, and on the card', async () => {
    await certificate.page.goto(`${service.url}/agent/${did}`)
    // The owner was verified for development only: the seal says so, and the evidence has the grade.
    await certificate.page.getByRole('img', { name: 'Development only' }).first().waitFor()
    const grades = certificate.page.getByText('Why the grade of this test is A')
    await grades.waitFor({ state: 'attached' })
    const text = await certificate.page.locator('body').innerText()
    assert.ok(text.includes(DOMAIN), text)
    const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
    // Midnight may have passed in the meantime.
    assert.ok(
      [begun, new Date()].some((each) => text.includes(day.format(each))),
      text,
    )
    const { grade, channels } = await getJson<Card>(`${service.url}/api/agents/${did}/card`)
    assert.equal(grade, 'A')
    assert.deepEqual(channels, [{ kind: 'domain', handleOrDomain: DOMAIN }])
  })

  await t.test('removing it says what it does, and does it', async () => {
    await openTab(page, 'Channels')
    await page.getByRole('link', { name: `Details: ${DOMAIN}` }).click()
    await untilHeading(page, DOMAIN)
    await page.getByRole('button', { name: 'Remove channel …' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText(/falls from A to C/).waitFor()
    await dialog.getByRole('button', { name: 'Remove channel' }).click()
    await page.getByText('No channels').waitFor()
    await openTab(page, 'Overview')
    await page.getByText('No verified channels').waitFor()
    await page.getByRole('img', { name: 'Grade C' }).first().waitFor()
    await openTab(page, 'Activity')
    await page.getByText(`Domain ${DOMAIN} was removed by you.`).waitFor()
    assert.equal((await getJson<Card>(`${service.url}/api/agents/${did}/card`)).grade, 'C')
    assert.deepEqual(await typesInHistory(page, service, did), [
      'A to C',
      'channel.removed',
      'C to A',
      'channel.verified',
      'agent.claimed',
    ])
  })

  assert.deepEqual(problems, [])
  assert.deepEqual(certificate.problems, [])
})

/**
 * Removes the refusals that a test caused on purpose from the page's reported problems.
 * @returns their statuses
 */
function takeRefusals(problems: readonly string[]): (string | undefined)[] {
  const all = problems as string[]
  return all.splice(0).map((each) => /: (\d+)$/.exec(each)?.[1])
}

test('a channel page updates at a proof and at a takeover', BROWSER_MATRIX, async (t) => {
  const dns = await startThreeDns(t)
  const service = await startTestService(t, outsideEnv(dns))
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)

  const prove = async (owner: number, agent: string) => {
    const { post } = await signIn(service, owner)
    const path = `/api/account/agents/${agent}/channels`
    const begun = JSON.parse((await post(path, { kind: 'domain', handleOrDomain: DOMAIN })).text)
    const [name, , value] = begun.proof.methods[0].fields
    for (const each of dns) each.set(name.value, 'TXT', [value.value])
    return () => post(`${path}/${begun.id}/check`)
  }

  const check = await prove(ownerId, did)
  await page.goto(`${service.url}/dashboard/agents/${did}/channels`)
  await page.getByRole('link', { name: `Verify: ${DOMAIN}` }).click()
  await untilHeading(page, DOMAIN)
  await check()
  await page.getByText(/changed from C to A/).waitFor()

  const other = await service.operator.addVerifiedOwner('eve')
  const theirs = await claimAgent(service, other, newKey())
  await (await prove(other, theirs))()
  await untilHeading(page, 'Channel not found')
  await page.getByRole('link', { name: /^Agent \w/ }).click()
  await openTab(page, 'Activity')
  await page.getByText('another owner verified it').waitFor()
  assert.deepEqual(problems, [])
})

test('a chat account is verified with the text of the page', BROWSER_MATRIX, async (t) => {
  const dns = await startThreeDns(t)
  const site = await startHttpsSite(t, ['api.github.com', 'github.com'])
  const service = await startTestService(t, outsideEnv(dns, [site]))
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)

  await page.goto(`${service.url}/dashboard/agents/${did}/channels/new`)
  await page.getByRole('radio', { name: 'GitHub' }).check()
  await page.getByRole('group').last().getByRole('textbox').fill('ada')
  await page.getByRole('button', { name: 'Show what to publish' }).click()
  await untilHeading(page, 'ada')
  const text = await page.getByText(/^svc-proof:/).innerText()
  site.serve('/users/ada', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: 'ada', type: 'User', bio: `Books trains. ${text}` }),
  })
  await page.setViewportSize({ width: 360, height: 640 })
  await checkNow(page)
  await page.getByText(/changed from C to B/).waitFor()
  await untilInSight(page.getByRole('img', { name: 'Grade B' }), 640)
  assert.deepEqual(problems, [])
})
