import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AgentObject } from '@countersign/protocol'
import { assertFit, openBrowser, tabTo } from '../support/browser.ts'
import { openAsOwner, untilHeading } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { giveProfile } from '../support/profile.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { setStatus } from '../support/set-status.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('selected agents are exported, suspended and revoked together', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const dids: string[] = []
  for (const name of ['Anna', 'Bert', 'Carl']) {
    const did = await claimAgent(service, owner, newKey(), name)
    await giveProfile(service, did, { displayName: name })
    dids.push(did)
  }
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
  const dialog = page.getByRole('alertdialog')
  const statusOf = async (did = '') => {
    const response = await fetch(`${service.url}/api/agents/${did}`)
    return ((await response.json()) as AgentObject).status
  }
  const open = async () => {
    await page.goto(`${service.url}/dashboard/agents`)
    await untilHeading(page, 'Agents')
    await page.getByRole('checkbox', { name: 'Select all listed' }).waitFor()
  }

  await t.test('a selection is exported as CSV and JSON', async () => {
    await open()
    await page.getByRole('checkbox', { name: 'Select Anna' }).check()
    await page.getByRole('checkbox', { name: 'Select Carl' }).check()
    const exported = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name }).click(),
      ])
      return readFileSync(await download.path(), 'utf8')
    }
    const rows = (await exported('Export CSV')).trim().split('\r\n')
    assert.deepEqual(
      rows.map((row) => row.split(',')[2]),
      ['display_name', 'Carl', 'Anna'],
    )
    const agents = JSON.parse(await exported('Export JSON')) as { svcDid: string }[]
    assert.deepEqual(
      agents.map(({ svcDid }) => svcDid),
      [dids[2], dids[0]],
    )
  })

  await t.test('agents are suspended with the keyboard alone, at 360 pixels', async () => {
    await page.setViewportSize({ width: 360, height: 800 })
    await open()
    await tabTo(page, /^Select Anna$/)
    await page.keyboard.press('Space')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('Shift+Tab')
    // From the end of the page around to the actions of the selection.
    await tabTo(page, /^Suspend …$/)
    await page.keyboard.press('Enter')
    await dialog.waitFor()
    await tabTo(page, /^Suspend 1 agent$/)
    await page.keyboard.press('Enter')
    await page.getByText('1 agent suspended.').waitFor()
    assert.equal(await statusOf(dids[0]), 'suspended')
    assert.equal(await statusOf(dids[1]), 'active')
  })

  await t.test('what became of each agent is said after a partial failure', async () => {
    await open()
    await page.getByRole('checkbox', { name: 'Select all listed' }).check()
    await page.getByRole('button', { name: 'Suspend …' }).click()
    await dialog.getByText('1 agent in your selection is not active').waitFor()
    // Meanwhile, the newest one is revoked elsewhere.
    await setStatus(service, dids[2] as string, 'revoked', 'retired')
    await dialog.getByRole('button', { name: 'Suspend 2 agents' }).click()
    const result = page.getByRole('dialog', { name: 'Some agents did not change' })
    await result.getByText('1 of 2 agents is suspended.').waitFor()
    await result.getByText(/^Carl: An agent that is revoked cannot become suspended/).waitFor()
    assert.equal(await statusOf(dids[1]), 'suspended')
    await result.getByRole('button', { name: 'Close' }).click()
    assert.deepEqual((problems as string[]).splice(0).length, 1, 'the refusal')
  })

  await t.test('revoking asks for a reason and the number of agents', async () => {
    await assertFit(page, async () => {
      await open()
      await page.getByRole('checkbox', { name: 'Select all listed' }).check()
      await page.getByRole('button', { name: 'Revoke …' }).click()
      await dialog.waitFor()
    })
    await dialog.getByLabel('Reason').selectOption('no_longer_used')
    const confirm = dialog.getByRole('button', { name: 'Revoke 2 agents' })
    assert.equal(await confirm.getAttribute('aria-disabled'), 'true')
    await dialog.getByLabel('Number of agents').fill('2')
    await confirm.click()
    await page.getByText('2 agents revoked.').waitFor()
    for (const did of dids) assert.equal(await statusOf(did), 'revoked')
  })
  assert.deepEqual(problems, [])
})

test('a batch of claim tokens is created, shown and downloaded', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const { page, problems } = await openAsOwner(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/claim`)
  await page.getByText('Create tokens for several agents').click()
  await page.getByLabel('Number of tokens').fill('101')
  await page.getByText('Enter a number from 1 to 100.').waitFor()
  await page.getByLabel('Number of tokens').fill('3')
  await page.getByRole('button', { name: 'Create claim tokens' }).click()
  await page.getByRole('heading', { name: '3 claim tokens' }).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download as CSV' }).click(),
  ])
  const [header, ...rows] = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\r\n')
  assert.equal(header, 'claim_token,expires_at')
  assert.equal(rows.length, 3)
  for (const row of rows) assert.match(row, /^svc-verify-[0-9a-f]{32},\d{4}-/)
  await page.getByText('0 of 3 agents claimed').waitFor()
  assert.deepEqual(problems, [])
})
