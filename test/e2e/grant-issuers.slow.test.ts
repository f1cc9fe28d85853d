import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentGrants, GrantIssuers } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../support/answer.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openTab, openWithCookie, untilHeading } from '../support/dashboard.ts'
import {
  createIssuer,
  grantFor,
  requestFor,
  requestGrant,
  startAuthorizationServer,
} from '../support/grant-world.ts'
import { newKey } from '../support/key.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('an owner creates a grant issuer, assigns it to an agent, sees its authorization servers and deletes it', {
  ...BROWSER_MATRIX,
  timeout: 600_000,
}, async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  const server = await startAuthorizationServer(t)
  const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
  const issuers = async () =>
    jsonOf<GrantIssuers>(await owner.get('/api/account/grant-issuers')).issuers

  await page.goto(`${service.url}/dashboard/account/developers`)
  await page.getByRole('link', { name: 'Manage grant issuers' }).click()
  await untilHeading(page, 'Grant issuers')
  await page.getByText('No grant issuers yet').waitFor()
  await page.getByRole('button', { name: 'Create a grant issuer' }).click()
  const name = page.getByLabel('Name')
  const submit = page.getByRole('button', { name: 'Create the grant issuer' })
  await submit.click()
  await page.getByText('Enter a name.').waitFor()
  assert.equal(await name.getAttribute('aria-invalid'), 'true')
  await name.fill('n'.repeat(65))
  await page.getByText('Use at most 64 characters').waitFor()
  await assertFit(page, async () => undefined)
  await name.fill('Shop agents')
  await submit.click()
  const item = page.getByRole('listitem', { name: 'Shop agents' })
  await item.getByText('No agents assigned.').waitFor()
  const [created] = await issuers()
  assert.ok(created)
  await item.getByText(created.issuer).waitFor()

  // The other one is deleted elsewhere while the page offers it.
  const other = await createIssuer(owner, 'Deleted elsewhere')
  await page.goto(`${service.url}/dashboard/agents/${did}`)
  await openTab(page, 'OAuth')
  await page.getByText('No grants yet').waitFor()
  const choice = page.getByRole('combobox', { name: 'Grant issuer' })
  const save = page.getByRole('button', { name: 'Save' })
  await choice.selectOption(other.id)
  assert.equal((await owner.send('DELETE', `/api/account/grant-issuers/${other.id}`)).status, 204)
  await save.click()
  await page.getByText('You have no such grant issuer.').waitFor()
  assert.equal(await choice.getAttribute('aria-invalid'), 'true')
  await choice.locator(`option[value="${other.id}"]`).waitFor({ state: 'detached' })
  assert.equal(await choice.inputValue(), '')
  await choice.selectOption(created.id)
  await save.click()
  await page.getByText(created.issuer).waitFor()
  assert.equal((await issuers())[0]?.agents, 1)

  await grantFor({ service, did, key }, server)
  await assertFit(page, async () => {
    await page.goto(`${service.url}/dashboard/agents/${did}/oauth`)
    await page.getByText(server.url, { exact: true }).waitFor()
    await page.getByText('1 grant ·').waitFor()
    await page.waitForLoadState('networkidle')
  })

  await page.getByRole('link', { name: 'Manage grant issuers' }).click()
  await untilHeading(page, 'Grant issuers')
  await assertFit(page, async () => {
    await page.reload()
    await item.getByText('1 agent assigned.').waitFor()
    await page.waitForLoadState('networkidle')
  })
  await item.getByRole('button', { name: 'Delete Shop agents' }).click()
  const confirm = page.getByRole('alertdialog')
  await confirm.getByText('1 agent uses it and gets no more grants.').waitFor()
  await assertFit(page, async () => undefined)
  await confirm.getByRole('button', { name: 'Delete the grant issuer' }).click()
  await page.getByText('No grant issuers yet').waitFor()
  const grants = jsonOf<AgentGrants>(await owner.get(`/api/account/agents/${did}/grants`))
  assert.equal(grants.issuer, null)
  assertRefused(await requestGrant({ service, did, key }, requestFor(server)), 409, 'CONFLICT')
  // The issuer that was deleted elsewhere.
  assert.deepEqual(problems, [
    `${service.url}/api/account/agents/${encodeURIComponent(did)}/grant-issuer: 404`,
  ])
})
