import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, DelegatedAgent, newKey, Registry, type Signer } from '@countersign/sdk'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import {
  assertAccessible,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'
import { rawRequest } from './support/check-request.ts'

const SHOP = 'https://shop.example'
const base64Of = ({ publicKey }: Signer) => Buffer.from(publicKey).toString('base64')

test(
  'the hops of a pasted request fit 360 pixels with text at 200 %, and are accessible in both themes',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const registry = new Registry(service.url, PATIENT_CLIENT)
    const agent = new Agent({ registry, signer: await newKey() })
    const { did } = await agent.claim(await service.operator.issueToken(owner))
    await allowDelegation(service, owner, did, 2)
    const [first, second] = [await newKey(), await newKey()]
    const paths = ['/orders', `/orders/${'long-'.repeat(20)}/*`]
    const limits = { origins: [SHOP], paths, maxDepth: 1 }
    const { chain } = await agent.delegate({ publicKey: base64Of(first), ...limits })
    const before = new DelegatedAgent({ chain, signer: first })
    const next = await before.delegate({ publicKey: base64Of(second), origins: [SHOP] })
    const delegate = new DelegatedAgent({ chain: next.chain, signer: second })
    const { headers } = await delegate.sign(`${SHOP}/orders`)
    const pasted = rawRequest([['Host', 'shop.example'], ...headers], { target: '/orders' })

    const browser = await openBrowser(t)
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      const { page, problems } = await newPage(browser, { colorScheme, width })
      await page.goto(`${service.url}/check/request`)
      await page.getByLabel('Paste a request').fill(pasted)
      const row = page.locator('#check-delegation')
      await row.getByText('Hop 2, to the key').waitFor()
      await assertAccessible(page)
      await assertNoSidewaysScroll(page)
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      await assertNoSidewaysScroll(page)
      assert.deepEqual(problems, [])
    }
  },
)
