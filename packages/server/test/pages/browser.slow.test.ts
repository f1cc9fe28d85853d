import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { assertFit, newPage, openBrowser } from '../../../../test/support/browser.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'
import { until } from '../../../../test/support/until.ts'

interface Scene {
  readonly service: TestService
  readonly browser: Browser
  /** URLs of every public page, by name. */
  readonly pages: Readonly<Record<string, string>>
}

const cleanup = fileCleanup()
let shared: Promise<Scene> | undefined
const scene = () => (shared ??= startScene())

async function startScene(): Promise<Scene> {
  const service = await startTestService(cleanup)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  const dids: Record<string, string> = {}
  for (const name of ['active', 'plain', 'suspended', 'revoked']) {
    const did = await claimAgent(service, owner)
    dids[name] = did
    if (name === 'plain') continue
    await giveProfile(service, did, {
      username: `the-${name}`,
      displayName: `${name} ${'Donaudampfschiffahrtselektrizitätenhauptbetriebswerk'.slice(0, 50)}`,
      description: 'w'.repeat(160),
      channels: [{ kind: 'domain', handleOrDomain: `${'long-'.repeat(12)}name.example`, tier: 2 }],
    })
  }
  await giveUp(service, owner, dids.plain as string)
  await setStatus(service, dids.suspended as string, 'suspended', 'under_review')
  await setStatus(service, dids.revoked as string, 'revoked', 'key_compromised')
  const pages = {
    start: '/',
    check: '/check',
    // The sample is another one with each visit.
    'check of a request':
      '/check/request?request=GET+https://shop.example/&at=2026-01-01T00:00:00Z',
    console: '/console',
    sample: '/sample',
    'check of an agent': '/check?agent=the-active',
    'check of a revoked agent': `/check?agent=${dids.revoked}`,
    'check of nobody': '/check?agent=nobody',
    certificate: '/agent/the-active',
    'certificate without a profile': `/agent/${dids.plain}`,
    'suspended certificate': `/agent/${dids.suspended}`,
    'revoked certificate': `/agent/${dids.revoked}`,
    'no certificate': '/agent/nobody',
    'a name that was given up': '/agent/given-up',
    nothing: '/nowhere',
  }
  return { service, browser: await openBrowser(cleanup), pages }
}

async function giveUp(service: TestService, owner: number, did: string): Promise<void> {
  const { send } = await signIn(service, owner)
  for (const username of ['given-up', null]) {
    const answer = await send('PATCH', `/api/account/agents/${did}`, { username })
    assert.equal(answer.status, 200, answer.text)
  }
}

test(
  'axe finds no violation on any public page, in both themes, wide and narrow, and text reflows',
  BROWSER_MATRIX,
  async (t) => {
    const { service, browser, pages } = await scene()
    const { page, problems } = await newPage(browser)
    for (const [name, path] of Object.entries(pages)) {
      await t.test(name, async () => {
        await assertFit(page, async () => {
          await page.goto(service.url + path)
        })
        assert.deepEqual(problems, [])
      })
    }
  },
)

/** Each visit gets a challenge of its own. */
function withoutChallenge(text: string): string {
  return text
    .replaceAll(/(?<=:|%3A)[\w-]{72}/g, 'nonce')
    .replaceAll(/\d\d:\d\d UTC/g, 'UTC')
    .trim()
}

test('every public page is complete without JavaScript', BROWSER_MATRIX, async (t) => {
  const { service, browser, pages } = await scene()
  const { page, problems } = await newPage(browser)
  const bare = await newPage(browser, { javaScript: false })
  for (const [name, path] of Object.entries(pages)) {
    await t.test(name, async () => {
      await page.goto(service.url + path)
      const withScript = withoutChallenge(await textWithoutButtons(page))
      await bare.page.goto(service.url + path)
      assert.equal(await bare.page.getByRole('button', { name: /^Copy/ }).count(), 0)
      assert.equal(withoutChallenge(await textWithoutButtons(bare.page)), withScript)
      assert.deepEqual([problems, bare.problems], [[], []])
    })
  }
  await page.context().close()
  await bare.page.context().close()
})

/** The visible text without buttons that copy or belong to the sample, which exist only with JavaScript. */
async function textWithoutButtons(page: Page): Promise<string> {
  let text = await page.locator('main').innerText()
  for (const each of await page.locator('[data-copy], [data-action]:visible').all()) {
    text = text.replace(await each.innerText(), '')
  }
  return text.replace(/req_\w+/, '').replaceAll(/\s+/g, ' ')
}

test('a copy button copies the text beside it', BROWSER_MATRIX, async (_t) => {
  const { service, browser } = await scene()
  const { page, problems } = await newPage(browser)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${service.url}/agent/the-active#key`)
  const did = await page
    .locator('code', { hasText: /^svc:agent:/ })
    .first()
    .innerText()
  await page.getByRole('button', { name: 'Copy the DID', exact: true }).click()
  await page.getByRole('button', { name: 'Copied the DID' }).waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), did)
  assert.deepEqual(problems, [])
})

test(
  'the forms of the check page work by keyboard alone and without JavaScript',
  BROWSER_MATRIX,
  async (_t) => {
    const { service, browser } = await scene()
    const { page, problems } = await newPage(browser, { javaScript: false })
    await page.goto(service.url)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    // The skip link comes first.
    await page.waitForURL('**/#main')
    await page.getByLabel('Look up an agent').focus()
    await page.keyboard.type('the-active')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('This certificate is valid.').waitFor()
    await page.getByLabel('Challenge').fill('one\ntwo')
    await page.getByLabel('Signature', { exact: true }).fill('nonsense')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Not a signature').waitFor()
    assert.equal(await page.getByLabel('Challenge').inputValue(), 'one\ntwo')
    assert.deepEqual(problems, [])
  },
)

test(
  'the theme button changes the theme of every page, and the choice is there before the first paint',
  BROWSER_MATRIX,
  async (_t) => {
    const { service, browser } = await scene()
    const { page, problems } = await newPage(browser, { colorScheme: 'light' })
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await page.goto(`${service.url}/`)
    const light = await ground()
    await page.getByRole('button', { name: 'Theme: system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    // Chromium may show the colors a moment after the attribute.
    await until(async () => (await ground()) !== light)
    const dark = await ground()
    // Runs as soon as there is a body, which is before anything is painted.
    await page.addInitScript(`new MutationObserver((_, observer) => {
    if (document.body === null) return
    observer.disconnect()
    globalThis.early = document.documentElement.dataset.theme
  }).observe(document, { childList: true, subtree: true })`)
    for (const path of ['/check', '/docs/agents', '/agent/the-active', '/nowhere']) {
      await page.goto(service.url + path)
      assert.equal(await page.evaluate('globalThis.early'), 'dark', path)
      assert.equal(await ground(), dark, path)
    }
    await page.getByRole('button', { name: 'Theme: dark' }).click()
    await page.getByRole('button', { name: 'Theme: system' }).waitFor()
    await until(async () => (await ground()) === light)
    assert.deepEqual(problems, [])
  },
)
