import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateOf, decodeJws } from '../support/agent-certificates.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openTab, openWithCookie } from '../support/dashboard.ts'
import { createGroup } from '../support/delegation-groups.ts'
import { newKey } from '../support/key.ts'
import { endDelegationsWith } from '../support/key-operations.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { referenceIn } from '../support/status-feed.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'
import { until } from '../support/until.ts'

test('an owner allows an agent to delegate, ends its delegations and forbids it again', {
  ...BROWSER_MATRIX,
  timeout: 600_000,
}, async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
  const certified = async () => {
    const token = await certificateOf(service, did)
    return { depth: decodeJws(token).claims.maxDelegationDepth, entry: referenceIn(token) }
  }

  await page.goto(`${service.url}/dashboard/agents/${did}`)
  await openTab(page, 'Delegation')
  await page.getByText('No changes yet').waitFor()
  assert.ok(await page.getByRole('radio', { name: 'Not allowed' }).isChecked())
  assert.equal(await page.getByRole('button', { name: 'End all delegations …' }).count(), 0)
  const save = page.getByRole('button', { name: 'Save' })
  assert.ok(await save.isDisabled())
  await page.getByRole('radio', { name: '2 levels' }).check()
  await save.click()
  await page.getByText('The agent may delegate up to 2 levels.').last().waitFor()
  const { depth, entry } = await certified()
  assert.equal(depth, 2)
  await assertFit(page, async () => {
    await page.reload()
    await page.getByText('--origin https://shop.example').waitFor()
    await page.getByRole('button', { name: 'End all delegations …' }).waitFor()
    await page.waitForLoadState('networkidle')
  })

  // The agent creates groups of delegations, of which the owner ends one.
  for (const label of ['Nightly import of all orders', 'x'.repeat(64)]) {
    await until(async () => (await createGroup(service, { did, key }, label)).status === 201)
  }
  const endGroup = page.getByRole('button', { name: 'End the group Nightly import of all orders' })
  await endGroup.waitFor()
  await assertFit(page, async () => {
    await page.reload()
    await endGroup.waitFor()
    await page.waitForLoadState('networkidle')
  })
  await endGroup.click()
  await page.getByRole('alertdialog').getByText('Sites refuse its delegates').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'End group' }).click()
  await page.getByText('The group Nightly import of all orders ended.').first().waitFor()
  await endGroup.waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('button', { name: /^End the group x/ }).count(), 1)

  await page.getByRole('button', { name: 'End all delegations …' }).click()
  const confirm = page.getByRole('alertdialog')
  await confirm.getByText('Sites refuse every delegate').waitFor()
  await assertFit(page, async () => undefined)
  await confirm.getByRole('button', { name: 'End all delegations' }).click()
  await page.getByText('You ended all delegations.').first().waitFor()
  const after = await certified()
  assert.equal(after.depth, 2)
  assert.notDeepEqual(after.entry, entry)

  // The page learns of what the agent does.
  const answer = await endDelegationsWith(service, did, { old: key, sequence: 1 })
  assert.equal(answer.status, 200, answer.text)
  await page.getByText('The agent ended all its delegations.').waitFor()

  await page.getByRole('radio', { name: 'Not allowed' }).check()
  await page.getByText('ends all delegations of the agent at once').waitFor()
  await page.getByRole('button', { name: 'Save and end all delegations' }).click()
  await page.getByText('The agent may not delegate.').waitFor()
  assert.equal((await certified()).depth, undefined)

  await page.goto(`${service.url}/agent/${did}`)
  await page.getByText('For developers').click()
  assert.equal(
    await page.locator('dt', { hasText: 'Delegation' }).locator('+ dd').innerText(),
    'not allowed',
  )
  assert.deepEqual(problems, [])
})
