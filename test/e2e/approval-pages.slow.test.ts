import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { Mandates, OwnerApproval } from '@countersign/protocol'
import type { Page, Route } from 'playwright-core'
import { jsonOf } from '../support/answer.ts'
import {
  approveButton,
  approveOnPage,
  openApproval,
  openApprover,
  shownItems,
} from '../support/approval-page.ts'
import {
  APPROVALS,
  type ApprovalWorld,
  allowApprovals,
  askApproval,
  asked,
  deny,
  newApprovalWorld,
  order,
  ownApproval,
  PAPER,
  progressOf,
} from '../support/approvals.ts'
import { assertAccessible, assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openWithCookie, untilFocused, untilHeading } from '../support/dashboard.ts'
import { fileCleanup } from '../support/file-cleanup.ts'
import { MANDATES, orderOf } from '../support/mandates.ts'
import { startTestService, type TestService, tempDir } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { until } from '../support/until.ts'

const PHONE = { width: 360, height: 640 }
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  if (BROWSER_MATRIX.skip !== false) return
  // Without development providers, as in production: their warning would take space of the first screen.
  const file = join(tempDir(cleanup), 'providers.json')
  writeFileSync(file, JSON.stringify({ providers: [{ id: 'in-person', type: 'in-person' }] }))
  service = await startTestService(cleanup, { IDENTITY_PROVIDERS: file })
})

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Dashboard' })
const item = (page: Page) => page.getByRole('listitem').filter({ hasText: 'shop.example' })

async function bottomOf(page: Page, text: string): Promise<number> {
  const box = await page.locator('main').getByText(text, { exact: true }).first().boundingBox()
  assert.ok(box !== null, text)
  return box.y + box.height
}

test('an owner turns approvals on, is told of a request live, reads it on a phone and approves it once', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  await allowApprovals(world, false)
  const { page, problems } = await openApprover(await openBrowser(t), world, { width: 360 })
  await page.setViewportSize(PHONE)

  await page.goto(`${service.url}/dashboard/agents/${world.did}`)
  await page.getByRole('button', { name: 'Turn on approvals' }).click()
  await page.getByRole('button', { name: 'Turn off approvals' }).waitFor()
  await page.goto(`${service.url}/dashboard/approvals`)
  await page.getByText('No approvals yet').waitFor()
  assert.equal(
    await navigation(page).getByRole('link', { name: 'Approvals' }).innerText(),
    'Approvals',
  )

  const { id } = await asked(world, { request: PAPER, message: 'Printer paper, as every month' })
  // Long before the page asks again by itself, after a minute.
  await navigation(page)
    .getByRole('link', { name: /^Approvals ?\(1 pending\)$/ })
    .waitFor({ timeout: 20_000 })
  await item(page).getByRole('link').click()
  await untilHeading(page, 'Approve once?')

  const { displayName } = await ownApproval(world.owner, id)
  assert.deepEqual(await shownItems(page), [
    ['Agent', `${displayName} (self-declared name)\n${world.did}`],
    ['Site', 'shop.example'],
    ['Request', 'POST /orders/4711/confirm'],
    ['Body', ''],
    ['total', '"129.00"'],
    ['currency', '"EUR"'],
    ['to', '"Example GmbH"'],
    ['The agent says (not verified)', '“Printer paper, as every month”'],
    ['Approval', 'Valid once, for 10 minutes'],
  ])
  for (const text of ['Valid once.', 'shop.example', '"129.00"', '"EUR"', '"Example GmbH"']) {
    const bottom = await page.locator('main').getByText(text).first().boundingBox()
    assert.ok(bottom !== null && bottom.y + bottom.height <= PHONE.height, text)
  }
  assert.equal(await page.evaluate('scrollY'), 0)

  await approveButton(page).click()
  await page.getByText('If you know shop.example, tick the box.').waitFor()
  assert.equal((await progressOf(service, id)).state, 'pending')
  await approveOnPage(page)
  await untilFocused(page, /^Approved$/)
  await page.getByText('Next, the agent sends this request.').waitFor()
  const progress = await progressOf(service, id)
  assert.equal(progress.state, 'approved')
  assert.equal(progress.token?.split('.').length, 3)
  assert.equal(await approveButton(page).count(), 0)
  await page.getByRole('link', { name: 'All approvals' }).click()
  await item(page).getByText('Approved').waitFor()
  assert.equal(await navigation(page).getByText('pending').count(), 0)

  // The second request for this site needs no box.
  const second = await asked(world, order(2))
  await openApproval(page, service, second.id)
  assert.equal(await page.getByRole('checkbox').count(), 0)
  await page.locator('body').press('Tab')
  await tabTo(page, /^Approve with passkey$/)
  await page.keyboard.press('Enter')
  await untilHeading(page, 'Approved')
  assert.equal((await progressOf(service, second.id)).state, 'approved')
  assert.deepEqual(problems, [])
})

test('an agent says 1 € while the body says 1,000 €: the body is the request, above what the agent says', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  const { page, problems } = await openApprover(await openBrowser(t), world)
  const body = '{"total":1000.00,"currency":"EUR"}'
  const { id } = await asked(world, { request: { ...PAPER, body }, message: 'It is only 1 €' })
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 360]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 640 })
      await openApproval(page, service, id)
      const labels = (await shownItems(page)).map(([label]) => label)
      const says = 'The agent says (not verified)'
      assert.deepEqual(labels.slice(-5), ['Body', 'total', 'currency', says, 'Approval'])
      const total = await bottomOf(page, '1000.00')
      assert.ok(total < (await bottomOf(page, '“It is only 1 €”')), 'the body is above the message')
      assert.ok(total <= 640, 'the amount is on the first screen')
    }
  }
  assert.deepEqual(problems, [])
})

test('what can mislead is shown as it is written, and everything is shown', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  const { page, problems } = await openApprover(await openBrowser(t), world)
  const url = 'https://xn--shp-fka.example/pay?to=Example%20GmbH&note=&%E2%80%AEtotal=1e3'
  const query = await asked(world, { request: { method: 'GET', url } })
  await openApproval(page, service, query.id)
  const items = new Map(await shownItems(page))
  assert.match(items.get('Site') ?? '', /^xn--shp-fka\.example\n.*letters outside ASCII/s)
  assert.equal(items.get('to'), 'Example GmbH\nwritten as to=Example%20GmbH')
  assert.equal(items.get('note'), 'empty')
  assert.match(items.get('⟨U+202E⟩total') ?? '', /^1e3\nwritten as %E2%80%AEtotal=1e3$/)
  assert.equal(items.get('Body'), 'None: all that this request says is in its address')
  await assertFit(page, () => openApproval(page, service, query.id))

  const values = Array.from({ length: 38 }, (_, i) => `"item-${i}":"${'x'.repeat(i)}"`)
  const body = `{"total":12345678901234567890,"note":"a\\u202eb\\u200bc",${values.join()}}`
  const many = await asked(world, { request: { ...PAPER, body } })
  await openApproval(page, service, many.id)
  const shown = await shownItems(page)
  const from = shown.findIndex(([label]) => label === 'Body') + 1
  assert.deepEqual(shown.slice(from, from + 2), [
    ['total', '12345678901234567890'],
    ['note', '"a⟨U+202E⟩b⟨U+200B⟩c"'],
  ])
  assert.equal(shown.length - from, 40 + 1)
  for (const each of await page.locator('main dl dd').all()) assert.ok(await each.isVisible())
  assert.equal(await page.locator('main details').count(), 0)
  await assertFit(page, () => openApproval(page, service, many.id))

  const { method, url: confirm } = PAPER
  const none = await asked(world, { request: { method, url: confirm } })
  await openApproval(page, service, none.id)
  const { Body: noBody } = Object.fromEntries(await shownItems(page))
  assert.equal(noBody, 'None: this request shows no amount')
  await assertFit(page, async () => {
    await page.goto(`${service.url}/dashboard/approvals`)
    await page.getByText('xn--shp-fka.example').waitFor()
  })
  assert.deepEqual(problems, [])
})

test('an owner denies, denies and turns off, or suspends the agent, with one click each', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  const { page, problems } = await openApprover(await openBrowser(t), world)
  let number = 0
  const decide = async (button: string, heading: string) => {
    const { id } = await asked(world, order(number++))
    await openApproval(page, service, id)
    await page.getByRole('button', { name: button, exact: true }).click()
    await untilHeading(page, heading)
    return (await progressOf(service, id)).state
  }
  assert.equal(await decide('Deny', 'Denied'), 'denied')
  await page.getByText('The site does not admit the request.').waitFor()
  await assertFit(page, async () => {
    await page.reload()
    await untilHeading(page, 'Denied')
  })
  assert.equal(await decide('Suspend agent', 'Cancelled'), 'cancelled')
  const own = async () => jsonOf(await world.owner.get(`/api/account/agents/${world.did}`))
  assert.equal((await own()).status, 'suspended')
  await world.owner.post(`/api/account/agents/${world.did}/reactivate`)

  assert.equal(await decide('Deny and turn off', 'Denied'), 'denied')
  assert.equal((await own()).approvalsEnabled, false)
  assert.equal((await askApproval(world)).status, 403)
  await page.getByRole('link', { name: 'Open the agent' }).click()
  await page.getByText('The agent may not ask for approvals.').waitFor()
  assert.deepEqual(problems, [])
})

/** Holds requests back until as many have come as are expected. */
function barrier(expected: number): (route: Route) => Promise<void> {
  const all = Promise.withResolvers<void>()
  let come = 0
  return async (route) => {
    come += 1
    if (come === expected) all.resolve()
    await all.promise
    await route.continue()
  }
}

test('of two browsers that decide at once, one decides and the other shows what was decided', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  const browser = await openBrowser(t)
  const { id } = await asked(world)
  const hold = barrier(2)
  const statuses: number[] = []
  const open = async () => {
    const { page } = await openApprover(browser, world)
    await page.route(/\/approvals\/ap_[^/]+\/(?:deny|approve)/, hold)
    page.on('response', (response) => {
      if (/\/(?:deny|approve)/.test(response.url())) statuses.push(response.status())
    })
    await openApproval(page, service, id)
    return page
  }
  const [first, second] = [await open(), await open()]
  const list = await openWithCookie(browser, service, await signIn(service, world.owner.ownerId))
  await list.page.goto(`${service.url}/dashboard/approvals?state=pending`)
  await item(list.page).waitFor()

  await first.getByRole('checkbox').check()
  await Promise.all([
    approveButton(first).click(),
    second.getByRole('button', { name: 'Deny', exact: true }).click(),
  ])
  const { state } = await (async () => {
    await until(async () => statuses.length === 2)
    return progressOf(service, id)
  })()
  assert.deepEqual(statuses.sort(), [200, 409])
  const heading = state === 'approved' ? 'Approved' : 'Denied'
  await untilHeading(first, heading)
  await untilHeading(second, heading)
  const late = state === 'approved' ? second : first
  await late
    .getByText(`This request was already ${state}.`)
    .or(late.getByText('decided meanwhile'))
    .first()
    .waitFor()
  // The list of a third browser follows the stream.
  await list.page.getByText('No pending approvals').waitFor({ timeout: 20_000 })
  assert.deepEqual(list.problems, [])
})

test('the page signs what it shows: other rows than those of the service are refused, and its digests are not used', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  const { page } = await openApprover(await openBrowser(t), world)
  const { id } = await asked(world)
  const answerWith = (change: Partial<OwnerApproval>) =>
    page.route(`**${APPROVALS}/${id}`, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ json: { ...(await response.json()), ...change } })
    })
  await answerWith({ body: '{"total":"1.00","currency":"EUR","to":"Example GmbH"}' })
  await openApproval(page, service, id)
  await page.getByText('"1.00"').waitFor()
  await page.getByRole('checkbox').check()
  await approveButton(page).click()
  await page.getByText('The passkey has not signed this.').waitFor()
  assert.equal((await progressOf(service, id)).state, 'pending')

  await page.unroute(`**${APPROVALS}/${id}`)
  await answerWith({ body: '{"total":1,"total":1000}' })
  await openApproval(page, service, id)
  await page.getByText('This request cannot be approved.').waitFor()
  assert.equal(await approveButton(page).count(), 0)

  await page.unroute(`**${APPROVALS}/${id}`)
  await answerWith({ bodyDigest: 'A'.repeat(43), messageDigest: 'A'.repeat(43) })
  await openApproval(page, service, id)
  await approveOnPage(page)
  assert.equal((await progressOf(service, id)).state, 'approved')
})

test('an owner allows requests like an approved one: the next is approved at once, until the owner ends it', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world = await newApprovalWorld(service)
  const { page, problems } = await openApprover(await openBrowser(t), world, { width: 360 })
  const { id } = await asked(world, orderOf('42.00', 1))
  await openApproval(page, service, id)
  assert.equal(await page.getByRole('link', { name: 'Allow requests like this' }).count(), 0)
  await approveOnPage(page)
  await page.getByRole('link', { name: 'Allow requests like this' }).click()
  await untilHeading(page, 'Allow requests like this')
  const fill = async () => {
    await page.getByLabel('Path', { exact: true }).selectOption('/orders/*')
    await page.getByLabel('total', { exact: true }).selectOption('At most')
    await page.getByText('Enter the highest amount of total, such as 50.00.').waitFor()
    await page.getByLabel('Highest total').fill('50.00')
    await page.getByLabel('Total amount').fill('100')
    await page.getByLabel('In how many days').fill('7')
    await page.getByLabel('Requests in 24 hours').fill('2')
  }
  await fill()
  await assertAccessible(page)
  await assertFit(page, async () => {
    await page.reload()
    await fill()
  })
  const { displayName } = await ownApproval(world.owner, id)
  const shown = await shownItems(page)
  assert.deepEqual(shown.slice(0, -2), [
    ['Agent', `${displayName} (self-declared name)\n${world.did}`],
    ['Site', 'shop.example'],
    ['Requests', 'POST /orders/*'],
    ['Body', ''],
    ['total', 'at most 50.00'],
    ['currency', '"EUR"'],
    ['to', '"Example GmbH"'],
    ['Total', 'total: at most 100 in 7 days'],
    ['Most requests', '2 requests in 24 hours'],
  ])
  assert.deepEqual(shown.at(-1), ['Made from the approval', `${id}\nat ${service.url}`])

  // What the page sends is what it shows: with other terms, the signature is refused.
  await page.route(`**${MANDATES}`, (route) =>
    route.continue({ postData: { ...route.request().postDataJSON(), perDay: 3 } }),
  )
  await approveButton(page).click()
  await page.getByText('The passkey has not signed this.').waitFor()
  await page.unroute(`**${MANDATES}`)
  await approveButton(page).click()
  await untilFocused(page, /^Standing mandates$/)

  assert.equal((await asked(world, orderOf('40.50', 2))).state, 'approved')
  const use = page.getByText(
    'total: 40.50 of 100 used in 7 days. 1 of 2 requests used in 24 hours.',
  )
  await use.waitFor({ timeout: 20_000 })
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(PHONE)
  await page.reload()
  await use.waitFor()
  await assertAccessible(page)
  await assertFit(page, async () => {
    await page.reload()
    await use.waitFor()
  })
  await page.getByRole('button', { name: 'End the mandate for shop.example' }).click()
  await page.getByRole('button', { name: 'End the mandate', exact: true }).click()
  await page.getByText('Ended', { exact: true }).waitFor()
  assert.equal((await asked(world, orderOf('1.00', 3))).state, 'pending')
  const { mandates } = jsonOf<Mandates>(await world.owner.get(MANDATES))
  // The terms of the summary.
  assert.deepEqual(
    mandates.map(({ state, limits, body, total, perDay }) => [state, limits, body, total, perDay]),
    [
      [
        'ended',
        { origins: ['https://shop.example'], methods: ['POST'], paths: ['/orders/*'] },
        {
          '/total': { atMost: '50.00' },
          '/currency': { equals: '"EUR"' },
          '/to': { equals: '"Example GmbH"' },
        },
        { pointer: '/total', amount: '100', days: 7 },
        2,
      ],
    ],
  )
  assert.deepEqual(problems, [`${service.url}${MANDATES}: 401`])
})

test('a frame of another site does not get the page', BROWSER_MATRIX, async (t) => {
  const world = await newApprovalWorld(service)
  const { id } = await asked(world)
  const url = `${service.url}/dashboard/approvals/${id}`
  const html = `<iframe src="${url}" width="900" height="900"></iframe>`
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end(html),
  )
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  t.after(() => server.close())
  const { page } = await openApprover(await openBrowser(t), world)
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`)
  const frame = page.frames()[1]
  assert.match(frame?.url() ?? '', /^chrome-error:/)
  assert.equal(await page.frameLocator('iframe').getByRole('button').count(), 0)
  server.closeAllConnections()
})

test('without a passkey that is old enough, the owner can only deny; what has ended says so', {
  ...BROWSER_MATRIX,
}, async (t) => {
  const world: ApprovalWorld = await newApprovalWorld(service)
  const { ownerId } = world.owner
  const { db } = service.operator
  await db.write((tx) =>
    tx.db
      .updateTable('passkeys')
      .set({ created_at: Date.now() })
      .where('owner_id', '=', ownerId)
      .execute(),
  )
  const { page } = await openApprover(await openBrowser(t), world)
  const { id } = await asked(world)
  await openApproval(page, service, id)
  await page.getByRole('checkbox').check()
  await approveButton(page).click()
  await page.getByText('Add a passkey. It can approve after 72 hours.').waitFor()
  await page.getByRole('link', { name: 'Show your passkeys' }).waitFor()
  await assertFit(page, async () => undefined)
  await deny(world, id)
  await untilHeading(page, 'Denied')

  // The page notices the end by its own clock, and asks the service.
  const late = await asked(world, order(2))
  const soon = { expires_at: Date.now() + 8_000 }
  await db.write((tx) =>
    tx.db.updateTable('approvals').set(soon).where('id', '=', late.id).execute(),
  )
  await openApproval(page, service, late.id, 'Expired')
  await page.getByText('Nothing was approved. The agent can ask again.').waitFor()
  await openApproval(page, service, 'ap_AAAAAAAAAAAAAAAAAAAAAA', 'Approval not found')
})
