import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { newPage, openBrowser } from './support/browser.ts'
import { DocPage } from './support/doc-page.ts'
import { startDocsFixture } from './support/docs-fixture.ts'
import { freePort } from './support/ports.ts'
import { claimAgent } from './support/service.ts'
import { allOf, BROWSER_MATRIX, needs } from './support/tools.ts'

const page = (name: string) => new DocPage(`docs/${name}.md`, import.meta.filename)
const OPERATORS = page('operators')
const CONFIGURATION = page('configuration')
const OPERATING = page('operating')
const CARDS = page('cards')

test('the commands of docs/operators.md set up a service', needs('openssl', 'curl'), async (t) => {
  const { shell, dir } = await startDocsFixture(t)
  const printed = await shell.run(OPERATORS.take('1. Run it on your machine'))
  assert.match(
    printed,
    /^Added ada \(Ada Lovelace\)\.\nada is verified by in-person .*\nsvc-verify-[0-9a-f]{32}\n$/,
  )
  const settings = OPERATORS.take('3. Put it on the internet')
    .replace('/var/lib/countersign', join(dir, 'data'))
    .replace('agents.example.com', `localhost:${await freePort()}`)
  // Nothing runs there, and that is what the doctor finds.
  const found = await shell.run(`(${settings.trim()})`)
  assert.match(found, /^ok +base URL: https:/m)
  assert.match(found, /^warn +server: does not answer/m)
  assert.match(await shell.run(CONFIGURATION.take('Configuration')), /^ok +database: /m)
})

test('the commands of docs/operating.md work', needs('openssl', 'curl'), async (t) => {
  const { service, shell, ownerId } = await startDocsFixture(t)
  await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  await shell.run(`DID=${did}`)
  const step = (heading: string) => shell.run(OPERATING.take(heading))
  await step('Check the machine')
  assert.match(await step('Start and stop'), /^\{"status":"ok"\}\{"status":"ok"/)
  const backedUp = await step('Back up')
  assert.match(backedUp, /1 agents, 2 owners, \d+ events\. It was read again, and is sound\./)
  assert.match(backedUp, /^ok +database: sound/m)
  assert.match(backedUp, new RegExp(did))
  assert.match(await shell.run('ls'), /^backup-\d{4}-\d\d-\d\d\.db$/m)
  assert.match(await step('Issuer keys'), /^[\w-]{43} +active +present +since /m)
  const printed = await step('Owners and agents')
  assert.match(printed, new RegExp(`${did} is revoked\\.`))
  assert.match(printed, /\/dashboard\/sign-in#link=/)
})

test(
  'the examples of docs/cards.md work',
  allOf(needs('openssl', 'curl'), BROWSER_MATRIX),
  async (t) => {
    const { service, shell, ownerId } = await startDocsFixture(t, { PREVIEWS: 'card-formats' })
    const did = await claimAgent(service, ownerId)
    await shell.run(`SERVICE=${service.url} DID=${did}`)
    assert.match(await shell.run(CARDS.take('Cards in other formats')), new RegExp(did))

    const { page: site, problems } = await newPage(await openBrowser(t))
    await site.goto(`${service.url}/healthz`)
    const given = `const service = '${service.url}', did = '${did}'`
    await site.evaluate(`(async () => {
    document.body.innerHTML = '<div id="agent"></div>'
    ${given}
    ${CARDS.take('On your page', 'js')}
  })()`)
    assert.match(await site.locator('#agent').innerText(), new RegExp(`Agent ${did.slice(10, 16)}`))
    assert.deepEqual(problems, [])
  },
)

test('every block of this test was run', allOf(needs('openssl', 'curl'), BROWSER_MATRIX), () => {
  for (const each of [OPERATORS, CONFIGURATION, OPERATING, CARDS]) each.assertAllTaken()
})
