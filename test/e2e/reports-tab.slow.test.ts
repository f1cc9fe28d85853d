import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceivedReport, ReportState } from '@countersign/protocol'
import { jsonOf } from '../support/answer.ts'
import { assertFit, openBrowser } from '../support/browser.ts'
import { openTab, openWithCookie } from '../support/dashboard.ts'
import { newKey } from '../support/key.ts'
import { askReport, evidenceBy, reportBody, reportNew, sendReport } from '../support/reports.ts'
import { claimAgent, startTestService } from '../support/service.ts'
import { signIn } from '../support/signed-in.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

test('an owner reads a report, answers it, reports the key and suspends the agent', {
  ...BROWSER_MATRIX,
  timeout: 600_000,
}, async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/agents/${did}`)
  await openTab(page, 'Reports')
  await page.getByText('No reports').waitFor()

  const text = 'See https://evil.example/ <b>now</b>: 4,800 searches.\nx'.padEnd(900, 'x')
  const evidence = [
    await evidenceBy(service, { did, key }),
    await evidenceBy(service, { did, key }, { url: `https://shop.example/${'a'.repeat(300)}` }),
  ]
  const contact = 'abuse@shop.example'
  const sent = await sendReport(service, reportBody(did, evidence, { text, contact }))
  const report = jsonOf<ReceivedReport>(sent)
  await reportNew(service, { did, key }, { url: `https://${'a'.repeat(60)}.example/` })
  const shown = page.getByRole('region', { name: 'About requests to shop.example' })
  await assertFit(page, async () => {
    await page.reload()
    await shown.waitFor()
    await shown.getByRole('button', { name: 'Report key 1 as stolen …' }).waitFor()
    await page.waitForLoadState('networkidle')
  })
  assert.equal(await shown.locator('blockquote').innerText(), text)
  // What a stranger wrote is text: no link, no element of its own.
  assert.equal(await shown.locator('a, b').count(), 0)
  await shown.getByText('GET https://shop.example/search?q=1').waitFor()
  await shown.getByText('by key 1, the current key').first().waitFor()

  const download = page.waitForEvent('download')
  await shown.getByRole('button', { name: 'Download the signed requests' }).click()
  assert.equal((await download).suggestedFilename(), `${report.id}.json`)

  await shown.getByLabel('Answer').fill('It is fixed.')
  await shown.getByRole('button', { name: 'Send answer' }).click()
  // Until then the text is that of the field.
  await shown.getByLabel('Answer').waitFor({ state: 'detached' })
  await shown.getByText('It is fixed.').waitFor()
  const state = jsonOf<ReportState>(await askReport(service, report))
  assert.deepEqual([state.state, state.answer], ['answered', 'It is fixed.'])

  await shown.getByRole('button', { name: 'Report key 1 as stolen …' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Report as stolen' }).click()
  await shown.getByText('reported as leaked').first().waitFor()
  await page.getByText('The agent is suspended.').waitFor()
  await assertFit(page, async () => {
    await page.reload()
    await shown.getByText('reported as leaked').first().waitFor()
    await page.waitForLoadState('networkidle')
  })

  await page.goto(`${service.url}/dashboard/activity`)
  await page.getByText(`Requests of ${did} to shop.example were reported.`).first().waitFor()
  assert.deepEqual(problems, [])
})

test('an agent is suspended from its reports', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner('ada'))
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  await reportNew(service, { did, key })
  const { page, problems } = await openWithCookie(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/agents/${did}/reports`)
  await page.getByRole('button', { name: 'Suspend agent …' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByRole('button', { name: 'Suspend agent' }).click()
  await page.getByText('The agent is suspended.').waitFor()
  assert.deepEqual(problems, [])
})
