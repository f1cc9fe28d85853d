import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AgentObject } from '@countersign/protocol'
import {
  assertAccessible,
  assertFit,
  assertReflows,
  openBrowser,
  tabTo,
} from '../support/browser.ts'
import { openAsOwner, untilHeading } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { giveProfile } from '../support/profile.ts'
import { claimAgent, claimBody, postJson, startTestService } from '../support/service.ts'
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

  await t.test('each of these changes is one notification, by the name of the agent', async () => {
    await page.goto(`${service.url}/dashboard/notifications`)
    const titles = page.getByRole('main').getByRole('heading', { level: 2 })
    await titles.filter({ hasText: '“Bert” and 1 other agent: revoked by their owner' }).waitFor()
    assert.equal(await titles.filter({ hasText: /(Anna|Bert|Carl).*revoked/ }).count(), 2)
    await page.getByRole('link', { name: /^Open.*“Bert” and/ }).click()
    await untilHeading(page, 'Agents')
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
  await page.getByText('Waiting for the agents …').waitFor()
  const timer = page.getByRole('timer')
  await timer.waitFor()

  for (const [index, row] of rows.entries()) {
    const [token = ''] = row.split(',')
    const body = claimBody(token, newKey(), `build-${index + 1}`)
    assert.equal((await postJson(`${service.url}/api/v1/claim`, body)).status, 200)
    if (index === 0) await page.getByText('1 of 3 agents claimed').waitFor()
  }
  await page.getByRole('heading', { name: 'All 3 agents claimed' }).waitFor()
  assert.equal(await timer.count(), 0)
  assert.equal(await page.getByText('Waiting for').count(), 0)
  await page.getByRole('heading', { name: 'Name your agents' }).waitFor()
  await page.getByText('Label: build-3').waitFor()
  await assertReflows(page)
  await assertAccessible(page)
  const names = page.getByRole('main').getByRole('textbox')
  assert.equal(await names.count(), 3)
  await names.nth(0).fill('Travel assistant')
  await names.nth(1).fill('Ada ✓')
  await page.getByText('Remove the').waitFor()
  await names.nth(1).fill('')
  await page.getByRole('button', { name: 'Save names' }).click()
  await page.getByText('1 name saved.').waitFor()
  await page.getByRole('link', { name: 'Show the agents' }).click()
  await untilHeading(page, 'Agents')
  for (const name of ['Travel assistant', 'build-2', 'build-3']) {
    await page.getByRole('link', { name, exact: true }).waitFor()
  }
  assert.equal(await page.getByText('Label, not named yet').count(), 2)
  await page.getByLabel('Sort by').selectOption('name')
  await page.waitForURL('**/agents?sort=name')
  await page.locator('li').filter({ hasText: 'Travel assistant' }).last().waitFor()
  assert.deepEqual(problems, [])
})
