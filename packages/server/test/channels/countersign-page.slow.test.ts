import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { assertFit, openBrowser } from '../../../../test/support/browser.ts'
import { openWithCookie } from '../../../../test/support/dashboard.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'
import { cardWith, signed, startWithChannel } from './support/agent-cards.ts'

test(
  'the page of a verified agent-to-agent channel countersigns the card, to copy and to download',
  BROWSER_MATRIX,
  async (t) => {
    const { fixture, prover, kid, extension, see, channel } = await startWithChannel(t)
    const card = cardWith(extension)
    assert.equal((await see(await signed(card, prover, { kid }))).state, 'verified')
    const { service } = fixture
    const { page, problems } = await openWithCookie(await openBrowser(t), service, prover.owner)
    const button = page.getByRole('button', { name: 'Countersign agent card' })
    await assertFit(page, async () => {
      await page.goto(`${service.url}/dashboard/agents/${prover.did}/channels/${channel.id}`)
      await button.click()
      await page.getByText('Countersigned card').first().waitFor()
    })
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download agent-card.json' }).click(),
    ])
    const { signatures, ...content } = JSON.parse(readFileSync(await file.path(), 'utf8'))
    const { signatures: own, ...published } = await signed(card, prover, { kid })
    assert.deepEqual(content, published)
    assert.equal(signatures.length, (own as unknown[]).length + 1)
    assert.deepEqual(problems, [])
  },
)
