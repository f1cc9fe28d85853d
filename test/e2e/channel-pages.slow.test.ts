import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerChannel, RuntimeChallenge } from '@countersign/protocol'
import type { Page } from 'playwright-core'
import { jsonOf } from '../support/answer.ts'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { insertProvenChannel } from '../support/channel-rows.ts'
import { openAsOwner, untilFocused, untilHeading } from '../support/dashboard.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { outsideEnv } from '../support/https-site.ts'
import { newKey } from '../support/key.ts'
import { giveProfile } from '../support/profile.ts'
import { type Cleanup, claimAgent, postJson, startTestService } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000
const STREAM = '/api/account/stream'
/** Each page is scanned twice, which takes minutes on a busy machine. */
const MANY_PAGES = { timeout: 600_000 }
const LONG = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example.com`

/** An agent with a channel in every state, and its owner's browser. */
async function scene(t: Cleanup) {
  const dns = [await startDnsServer(t), await startDnsServer(t)]
  dns[1]?.fail('*', 'SERVFAIL')
  const service = await startTestService(t, outsideEnv(dns))
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const key = newKey()
  const did = await claimAgent(service, ownerId, key)
  const name = 'Donaudampfschiffahrtselektrizitätenhauptbetriebswerk'
  await giveProfile(service, did, { displayName: name })
  const now = Date.now()
  const proven = { verified_at: now - 9 * DAY, checked_at: now - DAY, fresh_until: now + 80 * DAY }
  const never = { verified_at: null, checked_at: null, fresh_until: null, proven_token: null }
  const failing = { failing_since: now - DAY, failed_at: now - DAY, failures: 1 }
  const token = { proof_token: 'b'.repeat(22), proof_expires_at: now - DAY }
  await service.operator.db.write(async (tx) => {
    const put = (id: string, kind: string, handle: string, more: object) =>
      insertProvenChannel(tx, did.slice(-24), {
        id,
        kind,
        handle_or_domain: handle,
        tier: kind === 'domain' ? 2 : 1,
        ...proven,
        ...more,
      })
    await put('verified', 'domain', 'agents.example.com', {})
    await put('failing', 'domain', LONG, failing)
    await put('ending', 'github', 'ada', { fresh_until: now + 5 * DAY })
    await put('stale', 'github', 'eve', { stale_since: now - DAY })
    await put('over', 'telegram', 'ada_bot', { ...never, ...token, proven_by: null })
  })
  const owner = await signIn(service, ownerId)
  const channels = `/api/account/agents/${did}/channels`
  const add = async (kind: string, handleOrDomain: string) => {
    const added = await owner.post(channels, { kind, handleOrDomain })
    assert.equal(added.status, 201, added.text)
    return jsonOf<OwnerChannel>(added).id
  }
  const open = await add('domain', LONG.replace('example.com', 'example.org'))
  await owner.post(`${channels}/${open}/check`)
  await owner.post(`${channels}/${open}/check`)
  const runtime = await add('runtime', 'home-server')
  const at = `${service.url}/dashboard/agents/${did}`
  const browser = await openBrowser(t)
  const opened = await openAsOwner(browser, service, ownerId)
  return { service, ownerId, did, key, owner, at, ids: { open, runtime }, ...opened }
}

test('axe finds nothing on the pages of channels in any state, nothing is too wide', {
  ...BROWSER_MATRIX,
  ...MANY_PAGES,
}, async (t) => {
  const { page, problems, at, ids, service } = await scene(t)
  const places: readonly [string, string, RegExp][] = [
    ['the list', '/channels', /^Donau/],
    ['the kinds', '/channels/new', /^Add a channel$/],
    ['to be proven', `/channels/${ids.open}`, /^aaa/],
    ['by the agent', `/channels/${ids.runtime}`, /^home-server$/],
    ['gone', '/channels/gone', /^Channel not found$/],
    ...['verified', 'failing', 'ending', 'stale', 'over'].map(
      (id) => [id, `/channels/${id}`, /./] as [string, string, RegExp],
    ),
  ]
  for (const [what, path, heading] of places) {
    await t.test(what, async () => {
      await assertFit(page, async () => {
        await page.goto('about:blank')
        await page.goto(at + path)
        await untilHeading(page, heading)
        await page.waitForLoadState('networkidle')
        await openEverything(page)
      })
    })
  }
  await t.test('the question before a removal', async () => {
    await assertFit(page, async () => {
      await page.goto(`${at}/channels/failing`)
      await page.getByRole('button', { name: 'Remove channel …' }).click()
      await page
        .getByRole('alertdialog')
        .getByText(/stays A/)
        .waitFor()
    })
  })
  await t.test('what every page says of channels that need their owner', async () => {
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/agents`)
      const notes = page.getByRole('complementary', { name: 'Your agents’ channels' })
      await notes.getByRole('link', { name: 'Verify again: eve' }).waitFor()
    })
    const notes = page.getByRole('complementary', { name: 'Your agents’ channels' })
    const told = await notes.getByRole('listitem').allInnerTexts()
    assert.deepEqual(
      told.map((each) => /no longer verified|is missing|expires on/.exec(each)?.[0]),
      ['no longer verified', 'is missing', 'expires on'],
    )
    await notes.getByRole('link', { name: 'Renew: ada' }).click()
    await untilHeading(page, /^Donau/)
    await page.getByRole('link', { name: 'Renew: ada' }).waitFor()
    await page.getByRole('heading', { name: 'Channels' }).waitFor()
    // The note is hidden on the agent's own page.
    await notes.waitFor({ state: 'detached' })
  })
  assert.deepEqual(problems, [])
})

/** Collapsed parts are expanded and scanned too. */
async function openEverything(page: Page): Promise<void> {
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
}

test('channels of a revoked agent are shown and can only be removed', BROWSER_MATRIX, async (t) => {
  const { page, problems, at, ids, owner, did } = await scene(t)
  await owner.post(`/api/account/agents/${did}/revoke`)
  await assertFit(page, async () => {
    await page.goto(`${at}/channels/verified`)
    await page.getByText('The agent is revoked. The channel is no longer checked.').waitFor()
  })
  for (const id of ['verified', 'stale', ids.open, ids.runtime]) {
    await page.goto(`${at}/channels/${id}`)
    await page.getByRole('button', { name: 'Remove channel …' }).waitFor()
    for (const name of ['Check now', 'Create new token', 'Show the command']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, `${name} for ${id}`)
    }
    assert.equal(await page.getByRole('heading', { name: /^(Publish|Run) the / }).count(), 0)
  }
  await page.goto(`${at}/channels/new`)
  await page.getByText('You cannot add channels to it.').waitFor()
  assert.deepEqual(problems, [])
})

test('a channel can be managed with the keyboard alone', BROWSER_MATRIX, async (t) => {
  const { page, problems, at, service, did } = await scene(t)
  await page.goto(`${at}/channels`)
  await untilHeading(page, /^Donau/)
  await page.getByRole('main').getByRole('link', { name: 'Add a channel' }).last().waitFor()
  await tabTo(page, /^Add a channel$/)
  await page.keyboard.press('Enter')
  await untilHeading(page, 'Add a channel')
  // The heading of the current page.
  await untilFocused(page, /^Add a channel$/)

  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Tab')
  await page.keyboard.type('book.example.org')
  await page.keyboard.press('Enter')
  await untilHeading(page, 'book.example.org')

  await tabTo(page, /^DNS record$/)
  await page.keyboard.press('ArrowRight')
  await page.getByRole('button', { name: 'Copy: Address' }).waitFor()
  await tabTo(page, /^Check now$/)
  await page.keyboard.press('Enter')
  await page.getByText('No result').waitFor()
  // The focus must not be lost.
  await untilFocused(page, /^Check now$/)

  const before = await page.getByText(/ did=svc:agent:/).innerText()
  await tabTo(page, /^Create new token$/)
  await page.keyboard.press('Enter')
  await page.getByText(before).waitFor({ state: 'detached' })
  await untilFocused(page, /^DNS record/)

  await tabTo(page, /^Remove channel …$/)
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').getByText('so the grade does not change').waitFor()
  await tabTo(page, /^Remove channel$/)
  await page.keyboard.press('Enter')
  await untilHeading(page, /^Donau/)
  await page.getByText('book.example.org removed.').waitFor()
  const left = await service.operator.db.read
    .selectFrom('channels')
    .select('handle_or_domain')
    .where('tail', '=', did.slice(-24))
    .execute()
  assert.ok(!left.some((each) => each.handle_or_domain === 'book.example.org'))
  assert.deepEqual(problems, [])
})

test('a page that waits for the agent updates at its answer', BROWSER_MATRIX, async (t) => {
  const { page, problems, at, ids, service, did, key } = await scene(t)
  await page.goto(`${at}/channels/${ids.runtime}`)
  await page.getByText('Waiting for the agent.').waitFor()
  const address = `${service.url}/api/agents/${did}/runtime`
  const asked = await postJson(`${address}/challenge`, {})
  const { challenge } = (await asked.json()) as RuntimeChallenge
  const answer = await postJson(address, { challenge, signature: key.sign(challenge) })
  assert.equal(answer.status, 200)
  await page.getByRole('heading', { name: 'Channel verified' }).waitFor()
  await page.getByRole('region', { name: 'Proofs' }).getByText('Found').waitFor()
  assert.deepEqual(problems, [])
})

test('a hidden page closes its event stream until it is visible', BROWSER_MATRIX, async (t) => {
  const { page, problems, at, owner, did } = await scene(t)
  const streams: string[] = []
  page.on('requestfinished', (request) => {
    if (request.url().endsWith(STREAM)) streams.push('ended')
  })
  page.on('requestfailed', (request) => {
    if (request.url().endsWith(STREAM)) streams.push('ended')
  })
  const followed = page.waitForResponse((response) => response.url().endsWith(STREAM))
  await page.goto(at)
  await untilHeading(page, /^Donau/)
  await followed
  await look(page, 'hidden')
  await owner.send('PATCH', `/api/account/agents/${did}`, { displayName: 'Meanwhile' })
  await until(async () => streams.length > 0, 30_000)
  assert.deepEqual(streams, ['ended'])
  assert.match(await page.getByRole('heading', { level: 1 }).innerText(), /^Donau/)
  await look(page, 'visible')
  await untilHeading(page, 'Meanwhile')
  await owner.send('PATCH', `/api/account/agents/${did}`, { displayName: 'While it is seen' })
  await untilHeading(page, 'While it is seen')
  assert.deepEqual(problems, [])
})

/** Simulates switching to another tab or back. */
async function look(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', {
    value: '${state}', configurable: true,
  })
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
}
