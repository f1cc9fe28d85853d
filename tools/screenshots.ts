import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import { approveOnPage, openApproval, openApprover } from '../test/support/approval-page.ts'
import { allowApprovals, asked, givePasskey, PAPER } from '../test/support/approvals.ts'
import { launchBrowser } from '../test/support/chromium.ts'
import { openAsOwner, untilHeading } from '../test/support/dashboard.ts'
import { newKey } from '../test/support/key.ts'
import {
  claimAgent,
  ROOT,
  startTestService,
  type TestService,
  tempDir,
} from '../test/support/service.ts'
import { signIn } from '../test/support/signed-in.ts'

/** Starts a service and takes the screenshots of README.md and docs/approvals.md: `npm run screenshots`. */

const DIR = join(ROOT, 'docs/images')
const WIDTH = 1280
const PHONE = { width: 360, height: 640 }
const GAP = 24
const APPROVAL =
  'Three screens of a phone. The first asks “Approve once?” and shows the agent, the site shop.example, and the values total 129.00, currency EUR and to Example GmbH. The second has a ticked box “I know shop.example” and the button “Approve with passkey”. The third says “Approved”, and that the agent can send the request once.'

const AGENTS = [
  [
    'trains',
    'Travel assistant',
    'travel-assistant',
    'Books trains for Ada, and nothing else.',
    '#0b5d4b',
  ],
  [
    'notes',
    'Minutes',
    'minutes',
    'Takes the minutes of meetings that it is invited to.',
    '#8a5200',
  ],
  ['shop', 'Shopper', 'ada-shopper', 'Buys what is on the list, up to 50 euros.', '#3b4d8f'],
  ['old', 'First attempt', null, 'Was replaced by Travel assistant.', null],
] as const

const ended: (() => unknown)[] = []
try {
  await takeAll({ after: (end) => ended.push(end) })
} finally {
  for (const end of ended.reverse()) await end()
}

async function takeAll(t: { after(end: () => unknown): void }): Promise<void> {
  mkdirSync(DIR, { recursive: true })
  // Like a production service: without development providers and their warning banner.
  const file = join(tempDir(t), 'providers.json')
  writeFileSync(file, JSON.stringify({ providers: [{ id: 'in-person', type: 'in-person' }] }))
  const service = await startTestService(t, { PORT: '8080', IDENTITY_PROVIDERS: file })
  const ownerId = await service.operator.addVerifiedOwner('ada', 'high')
  await furnish(service, ownerId)
  // Not `openBrowser`: it closes its browser when tests end.
  const browser = await launchBrowser()
  t.after(() => browser.close())
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openAsOwner(browser, service, ownerId, { colorScheme, width: WIDTH })
    await page.goto(`${service.url}/agent/travel-assistant`)
    await take(page, `certificate-${colorScheme}`, 1240)
    await page.goto(`${service.url}/dashboard/agents`)
    await untilHeading(page, 'Agents')
    await page.getByText('Travel assistant').first().waitFor()
    await take(page, `agents-${colorScheme}`)
    await page.goto(`${service.url}/dashboard/claim`)
    await page.getByRole('button', { name: 'Create claim token', exact: true }).click()
    await page.getByRole('timer').waitFor()
    await take(page, `claim-${colorScheme}`)
  }
  await takeApproval(service, ownerId, browser)
}

/** Draws an approval on a phone as three screens in one SVG, since the documentation shows no other pictures. */
async function takeApproval(
  service: TestService,
  ownerId: number,
  browser: Browser,
): Promise<void> {
  const owner = await signIn(service, ownerId)
  const key = newKey()
  const did = await claimAgent(service, ownerId, key, 'office')
  await owner.send('PATCH', `/api/account/agents/${did}`, { displayName: 'Office assistant' })
  await allowApprovals({ owner, did })
  const authenticator = await givePasskey(service, ownerId, Date.now() - 72 * 3_600_000)
  const message = 'Printer paper, as every month'
  const { id } = await asked({ service, did, key }, { request: PAPER, message })
  const options = { scale: 2, width: PHONE.width }
  const { page } = await openApprover(browser, { service, owner, authenticator }, options)
  await page.setViewportSize(PHONE)

  await openApproval(page, service, id)
  const screens = [await screen(page)]
  await page.getByRole('checkbox', { name: /^I know / }).check()
  await page.evaluate('scrollTo(0, document.body.scrollHeight - innerHeight - 90)')
  screens.push(await screen(page))
  await approveOnPage(page)
  await page.getByText('Approved once.').waitFor({ state: 'detached' })
  await page.evaluate('scrollTo(0, 0)')
  screens.push(await screen(page))

  const { width, height } = PHONE
  const images = screens.map((href, i) => {
    const place = `x="${i * (width + GAP) + 1}" y="1" width="${width}" height="${height}"`
    return `<image ${place} href="${href}"/>\n<rect ${place} fill="none" stroke="currentColor" stroke-opacity=".4"/>\n`
  })
  const box = `0 0 ${3 * width + 2 * GAP + 2} ${height + 2}`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" role="img" aria-label="${APPROVAL}">\n${images.join('')}</svg>\n`
  writeFileSync(join(DIR, 'approval.svg'), svg)
}

/** @returns what the window shows, as a data URL */
async function screen(page: Page): Promise<string> {
  await page.waitForLoadState('networkidle')
  const webp = await sharp(await page.screenshot())
    .webp({ quality: 60, effort: 6 })
    .toBuffer()
  // Line breaks are ignored. In the documentation, the letters of a stand-in would become a name of the deployment.
  const broken = webp.toString('base64').replaceAll(/q(?=wz)/gi, '$&\n')
  return `data:image/webp;base64,${broken}`
}

async function furnish(service: TestService, ownerId: number): Promise<void> {
  const owner = await signIn(service, ownerId)
  await owner.send('PATCH', '/api/account', { displayName: 'Ada Lovelace' })
  for (const [label, displayName, username, description, colour] of [...AGENTS].reverse()) {
    const did = await claimAgent(service, ownerId, undefined, label)
    const path = `/api/account/agents/${did}`
    await owner.send('PATCH', path, { displayName, username, description })
    if (colour !== null) await draw(service, owner.cookie, path, colour)
    if (label === 'old') await owner.post(`${path}/revoke`, { reason: 'no_longer_used' })
    if (label === 'shop') await owner.post(`${path}/suspend`, { reason: 'under_review' })
  }
}

/** Creates a picture to upload as an avatar. */
async function draw(
  service: TestService,
  cookie: string,
  path: string,
  colour: string,
): Promise<void> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" fill="${colour}"/><circle cx="32" cy="26" r="11" fill="#fff"/><path d="M12 58a20 20 0 0 1 40 0" fill="#fff"/></svg>`
  const body = await sharp(Buffer.from(svg)).resize(512).png().toBuffer()
  const headers = { cookie, origin: service.settings.baseUrl.origin, 'content-type': 'image/png' }
  const { status } = await fetch(`${service.url}${path}/avatar`, {
    method: 'PUT',
    headers,
    body: new Uint8Array(body),
  })
  if (status !== 200) throw new Error(`the picture was refused: ${status}`)
}

/** @param height in CSS pixels. Default: the whole page */
async function take(page: Page, name: string, height?: number): Promise<void> {
  await page.setViewportSize({ width: WIDTH, height: height ?? 600 })
  await page.waitForLoadState('networkidle')
  await page.evaluate(`scrollTo(0, 0), Promise.all(
    ['400', '500', '600', '700'].map((weight) => document.fonts.load(weight + ' 1rem Inter')),
  ).then(() => undefined)`)
  const png = await page.screenshot({ fullPage: height === undefined })
  await sharp(png)
    .png({ palette: true, quality: 90 })
    .toFile(join(DIR, `${name}.png`))
}
