import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { ask, post } from '../../../../test/support/ask.ts'
import { newPage, openBrowser } from '../../../../test/support/browser.ts'
import { giveOwnerName, giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'
import { jsonLdOf, metaOf } from './support/html.ts'

/** Texts that would execute or break the markup if they were not escaped. */
const HOSTILE = [
  '</script><script>document.title="owned"</script>',
  '"><img src=x onerror=document.title="owned">',
  "' onfocus='document.title=1' autofocus='",
  'javascript:document.title="owned"',
  '<!--<script>',
  ']]></title><svg onload=document.title="owned">',
  '&lt;script&gt;&#x3c;',
  '{{constructor.constructor("document.title=1")()}}',
  '\u2028document.title="owned"\u2029//',
  '\ufffe</style><style>*{display:none}',
]

test(
  'hostile names and descriptions are inert on every page and in every image',
  BROWSER_MATRIX,
  async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const did = await claimAgent(service, owner)
    const browser = await openBrowser(t)
    for (const hostile of HOSTILE) {
      await t.test(hostile, async () => {
        const channels = [{ kind: hostile, handleOrDomain: hostile, tier: 2 }] as const
        await service.operator.db.write((tx) => tx.db.deleteFrom('channels').execute())
        await giveProfile(service, did, { displayName: hostile, description: hostile, channels })
        await giveOwnerName(service, owner, hostile, did)
        const { text: html } = await ask(service, `/agent/${did}`)
        assert.equal(html.match(/<script/g)?.length, 2, 'the script of the page, and its data')
        assert.equal((jsonLdOf(html).about as { name: string }).name, hostile)
        assert.doesNotMatch(metaOf(html, 'og:title'), /[<>]/)
        assert.doesNotMatch(html, /href="javascript:/i)
        const [...tags] = html.replaceAll(/"[^"]*"/g, '""').matchAll(/<[^>]*>/g)
        for (const [tag] of tags) assert.doesNotMatch(tag, /\s(on\w+|style)=/i)

        const { page, problems } = await newPage(browser)
        for (const path of [
          `/agent/${did}`,
          `/check?agent=${did}`,
          `/agent/${did}/badge.svg?style=seal`,
        ]) {
          await page.goto(service.url + path)
          assert.doesNotMatch(await page.title(), /^owned|^1$/)
          assert.equal(await page.locator('img[src=x], svg[onload], [autofocus]').count(), 0)
        }
        assert.deepEqual(problems, [])
        await page.context().close()
        for (const style of ['flat', 'seal']) {
          const svg = (await ask(service, `/agent/${did}/badge.svg?style=${style}`)).text
          assert.equal((await sharp(Buffer.from(svg)).metadata()).format, 'svg')
          assert.doesNotMatch(svg, /<script|<img|<style|\son\w+="/)
        }
        assert.equal((await ask(service, `/agent/${did}/preview.png`)).status, 200)
      })
    }
  },
)

test('the check page echoes input as text only', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const browser = await openBrowser(t)
  const { page, problems } = await newPage(browser)
  for (const hostile of HOSTILE) {
    const asked = new URLSearchParams({ agent: hostile })
    await page.goto(`${service.url}/check?${asked}`)
    assert.equal(await page.inputValue('#agent'), hostile)
    const body = new URLSearchParams({ agent: hostile, challenge: hostile, signature: hostile })
    const form = 'application/x-www-form-urlencoded'
    const { text: html } = await post(service, '/check', body.toString(), form)
    assert.equal(html.match(/<script/g)?.length, 1)
    await page.setContent(html)
    assert.equal(await page.inputValue('#text'), hostile)
    assert.doesNotMatch(await page.title(), /^owned/)
  }
  assert.deepEqual(problems, [])
})

test('the error page does not repeat the unknown address', async (t) => {
  const service = await startTestService(t)
  const headers = { accept: 'text/html' }
  for (const path of ['/<script>x</script>', '/agent/"onload="x', '/agent/%3Cscript%3E']) {
    const response = await fetch(service.url + path, { headers })
    assert.doesNotMatch(await response.text(), /onload|<script>/)
  }
})
