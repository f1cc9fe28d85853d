import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offer, TransferWorld } from '../../packages/server/test/agents/transfers/with-transfers.ts'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openWithCookie, untilHeading } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { rotateTo } from '../support/key-operations.ts'
import { giveProfile } from '../support/profile.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const AT_ONCE = { RECOVERY_DELAY: '0' }

test(
  'a person moves agents into their organisation, after seeing what changes',
  BROWSER_MATRIX,
  async (t) => {
    const world = await TransferWorld.start(t)
    const { service } = world
    const browser = await openBrowser(t)
    const ada = await world.person('ada')
    const acme = await world.organisation(ada)
    const key = newKey()
    const did = await world.claim(ada.ownerId, key)
    await giveProfile(service, did, { displayName: 'Travel agent' })
    const other = await world.claim(ada.ownerId, newKey(), 'other')
    const { page, problems } = await openWithCookie(browser, service, ada)

    await page.goto(`${service.url}/dashboard/agents`)
    await page.getByLabel('Select Travel agent').check()
    await page.getByRole('link', { name: 'Transfer …' }).click()
    await untilHeading(page, 'Offer agents')
    await page.getByText('1 agent chosen').waitFor()
    const move = page.getByRole('button', { name: /^Move/ })
    await page.getByText('The organisation has no current identity verification.').waitFor()
    assert.equal(await move.getAttribute('aria-disabled'), 'true')

    await world.verify(acme.ownerId)
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/transfers/new`)
      await page.getByLabel('Travel agent').check()
      await page.getByText('The agents move at once. You become responsible').waitFor()
    })
    await page.getByText(/^The grade of 1 agent (stays|changes)/).waitFor()
    await page.getByText('Webhooks, API keys and grant issuers do not move.').waitFor()
    await tabTo(page, /^Move 1 agent to @acme$/)
    await page.keyboard.press('Enter')
    await untilHeading(page, 'Transfers')
    await page
      .getByRole('listitem', { name: '1 agent to @acme' })
      .getByText('Moved', { exact: true })
      .waitFor()
    assert.equal((await world.agent(did)).owner_id, acme.ownerId)
    assert.equal((await world.agent(other)).owner_id, ada.ownerId)

    const older = page.getByText('The key is older than this owner.')
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/o/acme/agents/${did}`)
      await older.waitFor()
    })
    await page.getByRole('region', { name: 'Responsible person' }).getByText('Owner ada').waitFor()
    assert.equal(
      (await rotateTo(service, did, { old: key, next: newKey(), sequence: 2 })).status,
      200,
    )
    await page.reload()
    await page.getByRole('region', { name: 'Responsible person' }).waitFor()
    await page
      .getByRole('navigation', { name: 'Agent' })
      .getByRole('link', { name: 'Keys' })
      .click()
    await page.getByRole('heading', { name: 'Current key' }).waitFor()
    assert.equal(await older.count(), 0)
    assert.deepEqual(problems, [])
  },
)

test(
  'an offer is accepted after its consequences are shown, and the sender can cancel until it takes effect',
  BROWSER_MATRIX,
  async (t) => {
    const world = await TransferWorld.start(t)
    const { service } = world
    const browser = await openBrowser(t)
    const ada = await world.person('ada')
    const bob = await world.person('bob')
    const did = await world.claim(ada.ownerId)
    await giveProfile(service, did, { displayName: 'Travel agent' })

    const sender = await openWithCookie(browser, service, ada)
    await sender.page.goto(`${service.url}/dashboard/agents/${did}/danger`)
    await sender.page.getByRole('link', { name: 'Transfer …' }).click()
    await sender.page.getByText('1 agent chosen').waitFor()
    await sender.page.getByLabel('Username of the receiver').fill('nobody-at-all')
    await sender.page.getByText('The receiver has to accept.').waitFor()
    await sender.page.getByRole('button', { name: 'Offer 1 agent to @nobody-at-all' }).click()
    await sender.page
      .getByRole('alert')
      .getByText(/no account/)
      .waitFor()
    assert.equal(sender.problems.length, 1, 'the refusal')
    await sender.page.getByLabel('Username of the receiver').fill('@Bob')
    await sender.page.getByRole('button', { name: 'Offer 1 agent to @bob' }).click()
    await untilHeading(sender.page, 'Transfers')
    const sent = sender.page.getByRole('listitem', { name: '1 agent to @bob' })
    await sent.getByText('Offered').waitFor()

    const { page, problems } = await openWithCookie(browser, service, bob)
    const received = page.getByRole('listitem', { name: '1 agent from @ada' })
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/transfers`)
      await received.getByText('Travel agent').waitFor()
    })
    await page.goto(`${service.url}/dashboard/notifications`)
    await page.getByRole('link', { name: /offers you an agent$/ }).click()
    await tabTo(page, /^Accept …: 1 agent from @ada$/)
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('alertdialog', { name: 'Accept 1 agent from @ada?' })
    await dialog.getByText('Channels have to be proven again.').waitFor()
    await dialog.getByText('The sender may still have the keys.').waitFor()
    await dialog.getByRole('button', { name: 'Accept the agents' }).click()
    await received.getByText('Accepted').waitFor()
    await received.getByText('The agents move on').waitFor()

    await sender.page.reload()
    await sent.getByText('Accepted').waitFor()
    await sender.page.getByRole('button', { name: 'Cancel …: 1 agent to @bob' }).click()
    await sender.page.getByRole('button', { name: 'Cancel the transfer' }).click()
    await sent.getByText('Cancelled', { exact: true }).waitFor()
    assert.equal((await world.agent(did)).owner_id, ada.ownerId)
    assert.deepEqual(problems, [])
    assert.equal(sender.problems.length, 1)
  },
)

test(
  'an organisation takes over several agents; who may not accept, decline or offer does not see it',
  BROWSER_MATRIX,
  async (t) => {
    const world = await TransferWorld.start(t, AT_ONCE)
    const { service } = world
    const browser = await openBrowser(t)
    const ada = await world.person('ada')
    const founder = await world.person('founder')
    const acme = await world.organisation(founder)
    const vera = await world.person('vera')
    await world.member('acme', vera, 'viewer')
    const dids = [
      await world.claim(ada.ownerId),
      await world.claim(ada.ownerId, newKey(), 'other'),
      await world.claim(ada.ownerId, newKey(), 'third'),
    ] as const
    await offer(ada, dids.slice(0, 2), 'acme')
    await offer(ada, dids.slice(2), 'acme')

    const transfers = `${service.url}/dashboard/o/acme/transfers`
    const viewer = await openWithCookie(browser, service, vera)
    await viewer.page.goto(transfers)
    await viewer.page.getByRole('listitem', { name: '2 agents from @ada' }).waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: /^(Accept|Decline)/ }).count(), 0)
    assert.equal(await viewer.page.getByRole('link', { name: 'Offer agents' }).count(), 0)
    await viewer.page.goto(`${transfers}/new`)
    await untilHeading(viewer.page, /not found/i)

    const { page, problems } = await openWithCookie(
      browser,
      service,
      await signIn(service, founder.ownerId),
    )
    await page.goto(transfers)
    await page.getByRole('button', { name: 'Accept …: 2 agents from @ada' }).click()
    const unverified = page.getByRole('dialog', { name: 'Verify the organisation first' })
    await unverified.getByRole('link', { name: 'Continue to identity verification' }).waitFor()
    await unverified.getByRole('button', { name: 'Cancel' }).click()
    await world.verify(acme.ownerId)
    await page.reload()
    await page.getByText('Show the 2 agents').click()
    await page.getByText(dids[1]).waitFor()
    await page.getByRole('button', { name: 'Accept …: 2 agents from @ada' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('You become responsible for the agents.').waitFor()
    await dialog.getByRole('button', { name: 'Accept the agents' }).click()
    await page
      .getByRole('listitem', { name: '2 agents from @ada' })
      .getByText('Moved', { exact: true })
      .waitFor()
    await page.getByRole('button', { name: 'Decline …: 1 agent from @ada' }).click()
    await page.getByRole('button', { name: 'Decline the transfer' }).click()
    await page
      .getByRole('listitem', { name: '1 agent from @ada' })
      .getByText('Declined', { exact: true })
      .waitFor()
    assert.deepEqual([...problems, ...viewer.problems], [])
  },
)
