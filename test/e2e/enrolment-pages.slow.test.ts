import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrolmentRule, EnrolmentRules } from '@countersign/protocol'
import type { Locator, Page } from 'playwright-core'
import {
  didIn,
  newRule,
  ownAgent,
  RULES,
} from '../../packages/server/test/agents/enrolment/with-rules.ts'
import { assertRefused, jsonOf } from '../support/answer.ts'
import { assertFit, assertNoSidewaysScroll, openBrowser, tabTo } from '../support/browser.ts'
import { openWithCookie, untilFocused, untilHeading } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { createOrganisation } from '../support/organisations.ts'
import { enrol, enrolmentBody, newPlatform, ruleFor, thumbprintOf } from '../support/platform.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { HOUR_MS } from '../support/sign-in-by.ts'
import { type SignedInOwner, signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

const GITHUB = 'https://token.actions.githubusercontent.com'
/** What GitHub says of a job on the main branch. */
const CLAIMS = {
  sub: 'repo:acme/crawler:ref:refs/heads/main',
  repository_id: '74',
  repository: 'acme/crawler',
  ref: 'refs/heads/main',
  event_name: 'push',
}

async function onlyRule(owner: SignedInOwner): Promise<EnrolmentRule> {
  const { rules } = jsonOf<EnrolmentRules>(await owner.get(RULES))
  assert.equal(rules.length, 1)
  return rules[0] as EnrolmentRule
}

/** Enrols a job of GitHub with a token for its own key. @returns its DID */
async function enrolJob(
  service: TestService,
  { id, audience }: EnrolmentRule,
  platform: ReturnType<typeof newPlatform>,
): Promise<string> {
  const key = newKey()
  const token = await platform.token({ ...CLAIMS, aud: `${audience}/${thumbprintOf(key)}` })
  return didIn(await enrol(service, enrolmentBody(service, id, token, key)))
}

/** Presses Tab until the focus is on something. */
async function tabToElement(page: Page, what: Locator): Promise<void> {
  await what.waitFor()
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    if ((await what.and(page.locator(':focus')).count()) > 0) return
  }
  assert.fail(`the keyboard does not reach ${what}`)
}

test('an owner creates a rule for GitHub, tests a token, sees a job enrol, pauses and ends the rule', {
  ...BROWSER_MATRIX,
  timeout: 900_000,
}, async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const platform = newPlatform(GITHUB)
  const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
  const dashboard = `${service.url}/dashboard`

  await page.goto(`${dashboard}/agents`)
  await page.getByRole('link', { name: 'Enrolment', exact: true }).click()
  await untilHeading(page, 'Enrolment')
  await assertFit(page, async () => {
    await page.goto(`${dashboard}/enrolment`)
    await page.getByText('No rules yet').waitFor()
  })
  await page.getByText('Everybody who can edit the workflow').waitFor()

  // The form of each platform in the narrowest window.
  await page.setViewportSize({ width: 320, height: 900 })
  await page.goto(`${dashboard}/enrolment/new`)
  const platforms = page.getByRole('group', { name: 'Platform' })
  for (const name of ['SPIFFE', 'Google Cloud', 'GitLab', 'Another platform', 'Kubernetes']) {
    await platforms.getByRole('radio', { name }).check()
    await assertNoSidewaysScroll(page)
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto(`${dashboard}/enrolment`)

  // The form, filled in by keyboard.
  await tabTo(page, /^Create a rule$/)
  await page.keyboard.press('Enter')
  await untilHeading(page, 'New enrolment rule')
  await tabToElement(page, platforms.getByRole('radio', { name: 'Kubernetes' }))
  await page.keyboard.press('ArrowDown')
  await page.getByText('the number of the repository', { exact: true }).waitFor()
  assert.equal(await page.getByLabel('Issuer').inputValue(), GITHUB)
  assert.ok(await page.getByRole('radio', { name: 'key: a token is for one key' }).isChecked())
  const create = page.getByRole('button', { name: 'Create the rule' })
  await tabToElement(page, create)
  await page.keyboard.press('Enter')
  const numberOfRepository = page.getByRole('group', { name: 'Claim 1' }).getByLabel('Value')
  await page.getByText('Enter a value.').waitFor()
  await numberOfRepository.and(page.locator(':focus')).waitFor()
  await page.keyboard.type('74')
  await page.getByRole('radio', { name: 'Pasted keys' }).check()
  await page.getByLabel('JWK Set').fill('{"keys"')
  await page.getByText('Paste a JWK Set').waitFor()
  await assertFit(page, async () => undefined)
  await page.getByLabel('JWK Set').fill(JSON.stringify(platform.jwks))
  await page.getByLabel('Name of the rule').fill('Crawler jobs')
  await page.getByLabel('Label', { exact: true }).fill('crawler')
  // Without its branch, any branch could enrol.
  await page.getByRole('button', { name: 'Remove claim 2' }).click()
  await create.click()
  await untilFocused(page, /any branch could enrol/)
  await page.getByRole('button', { name: 'Add a claim' }).click()
  const second = page.getByRole('group', { name: 'Claim 2' })
  await second.getByLabel('Claim', { exact: true }).fill('/ref')
  await second.getByLabel('Value').fill('refs/heads/main\nrefs/heads/next')
  await create.click()

  // The page of the rule, with the text to copy.
  await untilHeading(page, 'Crawler jobs')
  const rule = await onlyRule(owner)
  assert.deepEqual(rule.match, {
    '/repository_id': '74',
    '/ref': ['refs/heads/main', 'refs/heads/next'],
  })
  const setUp = page.getByRole('region', { name: 'Set up GitHub Actions' })
  await setUp.getByText('id-token: write').waitFor()
  await setUp.getByText(`--rule ${rule.id}`).waitFor()
  await setUp.getByText(rule.audience, { exact: true }).waitFor()

  // Two tokens: of a pull request of a stranger, and of the branch.
  const tester = page.getByRole('region', { name: 'Test a token' })
  const check = tester.getByRole('list', { name: 'Checks' }).getByRole('listitem')
  const aud = `${rule.audience}/test`
  const foreign = { ...CLAIMS, aud, ref: 'refs/pull/7/merge' }
  await tester.getByRole('button', { name: 'Test the token' }).click()
  await tester.getByText('Paste a token.').waitFor()
  await tester.getByLabel('Token', { exact: true }).fill(await platform.token(foreign))
  await tester.getByRole('button', { name: 'Test the token' }).click()
  await tester.getByText('The rule refuses this token.').waitFor()
  await check.getByText('its claim /ref is "refs/pull/7/merge"').waitFor()
  assert.equal(await check.count(), 9)
  await assertFit(page, async () => undefined)
  await tester.getByLabel('Token', { exact: true }).fill(await platform.token({ ...CLAIMS, aud }))
  await tester.getByRole('button', { name: 'Test the token' }).click()
  await tester.getByText('The rule accepts this token.').waitFor()
  assert.equal((await onlyRule(owner)).live, 0)

  // A job enrols, which the open page shows by itself.
  const did = await enrolJob(service, rule, platform)
  const agents = page.getByRole('region', { name: 'Agents' })
  await agents.getByText('1 of 100 agents').waitFor()

  // What may change.
  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  await untilHeading(page, 'Edit Crawler jobs')
  assert.equal(await page.getByLabel('Issuer').count(), 0)
  await assertFit(page, async () => undefined)
  await page.getByLabel('Agents at once').fill('2')
  await page.getByRole('button', { name: 'Save the rule' }).click()
  await agents.getByText('1 of 2 agents').waitFor()

  // The agent, and the list.
  await agents.getByRole('link', { name: 'Show the enrolled agents' }).click()
  await page.waitForURL('**/agents?enrolled=only')
  await page.getByText('1 agent shown.').waitFor()
  await page.getByLabel('Enrolment').selectOption('exclude')
  await page.getByText('You have no agent that no workload has enrolled.').waitFor()
  await assertFit(page, async () => {
    await page.goto(`${dashboard}/agents/${did}`)
    await page.getByRole('region', { name: 'Enrolment' }).getByText('Crawler jobs').waitFor()
  })
  await page.getByText('unless renewed').waitFor()
  await page.goto(`${dashboard}/agents/${did}/keys`)
  await page.getByText('its key is neither rotated nor recovered').waitFor()
  assert.equal(await page.getByRole('heading', { name: /^If the key is/ }).count(), 0)
  await page.goto(`${dashboard}/agents/${did}/danger`)
  await page.getByText('so its owner cannot change').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Transfer …' }).count(), 0)

  // The notification leads to the rule, which is paused and ended there.
  await page.goto(`${dashboard}/notifications`)
  await page.getByRole('link', { name: /Crawler jobs.* was created$/ }).click()
  await untilHeading(page, 'Crawler jobs')
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await page.getByText('No workload enrols or renews.').waitFor()
  const key = newKey()
  const token = await platform.token({ ...CLAIMS, aud: `${rule.audience}/${thumbprintOf(key)}` })
  const refused = await enrol(service, enrolmentBody(service, rule.id, token, key))
  assertRefused(refused, 403, 'FORBIDDEN', /paused/)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  await enrolJob(service, rule, platform)
  await agents.getByText('2 of 2 agents').waitFor()
  // Without the confirmations of earlier actions.
  await page.reload()
  await page.getByRole('button', { name: 'End …' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('its 2 agents are revoked within moments').waitFor()
  await assertFit(page, async () => undefined)
  await dialog.getByRole('button', { name: 'Pause the rule and revoke 2 agents' }).click()
  await agents.getByText('0 of 2 agents').waitFor()
  await page.getByText('No workload enrols or renews.').waitFor()
  assert.equal((await ownAgent(owner, did)).status, 'revoked')

  await assertFit(page, async () => {
    await page.goto(`${dashboard}/enrolment`)
    await page.getByRole('link', { name: 'Crawler jobs' }).waitFor()
  })
  await page.getByRole('link', { name: 'Crawler jobs' }).click()
  await page.getByRole('button', { name: 'Delete …' }).click()
  await dialog.getByRole('button', { name: 'Delete the rule' }).click()
  await page.getByText('No rules yet').waitFor()
  assert.deepEqual(problems, [])
})

test('in an organisation, a viewer sees rules, a responder pauses and ends them, a manager does the rest', {
  ...BROWSER_MATRIX,
  timeout: 600_000,
}, async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const mona = await acme.addMember('mona', 'manager')
  const rita = await acme.addMember('rita', 'responder')
  const vera = await acme.addMember('vera', 'viewer')
  const rule = await newRule(mona, ruleFor(newPlatform(), { name: 'Crawler pods' }))
  const browser = await openBrowser(t)
  const pages = `${service.url}/dashboard/o/acme/enrolment`

  const viewer = await openWithCookie(browser, service, vera.self)
  await viewer.page.goto(pages)
  await viewer.page.getByRole('link', { name: 'Crawler pods' }).click()
  await untilHeading(viewer.page, 'Crawler pods')
  const buttons = viewer.page.getByRole('button', { name: /^(Pause|End|Delete|Change|Test)/ })
  assert.equal(await buttons.count(), 0)
  assert.equal(await viewer.page.getByRole('link', { name: 'Edit' }).count(), 0)
  await viewer.page.goto(`${pages}/new`)
  await untilHeading(viewer.page, /not found/i)

  const responder = await openWithCookie(browser, service, rita.self)
  await responder.page.goto(`${pages}/${rule.id}`)
  await responder.page.getByRole('button', { name: 'End …' }).waitFor()
  assert.equal(await responder.page.getByRole('button', { name: 'Delete …' }).count(), 0)
  await responder.page.getByRole('button', { name: 'Pause', exact: true }).click()
  await responder.page.getByText('No workload enrols or renews.').waitFor()
  assert.equal(await responder.page.getByRole('button', { name: 'Resume' }).count(), 0)
  await responder.page.close()

  // A manager whose sign-in is old is asked to sign in again.
  const old = await signIn(service, mona.ownerId, Date.now() - HOUR_MS)
  const { page, problems } = await openWithCookie(browser, service, old)
  await page.goto(`${pages}/${rule.id}`)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('dialog', { name: 'Sign in again to continue' }).waitFor()
  assert.equal(problems.length, 1, 'the refusal')

  const manager = await openWithCookie(browser, service, mona.self)
  await manager.page.goto(`${pages}/${rule.id}`)
  const section = manager.page.getByRole('region', { name: 'Responsible person' })
  await section.getByText('Owner mona').waitFor()
  await section.getByRole('button', { name: 'Change' }).click()
  const dialog = manager.page.getByRole('dialog', { name: 'Responsible person' })
  assert.equal(await dialog.getByRole('option', { name: 'Nobody' }).count(), 0)
  await dialog.getByLabel('Member').selectOption({ label: 'Owner rita (@rita)' })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await section.getByText('Owner rita').waitFor()

  // Who leaves is responsible no more, and the rule is listed for review.
  const admin = await openWithCookie(browser, service, acme.admin.self)
  await admin.page.goto(`${service.url}/dashboard/o/acme/members`)
  await admin.page.getByRole('button', { name: 'Remove …: Owner rita' }).click()
  await admin.page.getByRole('button', { name: 'Remove the member' }).click()
  const review = admin.page.getByRole('dialog')
  await review.getByText('Enrolment rule').waitFor()
  await review.getByRole('link', { name: 'Crawler pods' }).click()
  await untilHeading(admin.page, 'Crawler pods')
  await admin.page.getByText('The member has left.').waitFor()
  assert.deepEqual([...viewer.problems, ...responder.problems, ...manager.problems], [])
  assert.deepEqual(admin.problems, [])
})
