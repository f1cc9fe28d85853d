import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readContents } from '../tools/docs/compile-book.ts'
import { keptIn } from '../tools/docs/name-template.ts'
import { ask } from './support/ask.ts'
import { openBrowser } from './support/browser.ts'
import { openAsOwner } from './support/dashboard.ts'
import { ACME, assertNoDefaultNames, DEFAULT_NAMES } from './support/renamed-deployment.ts'
import { claimAgent, ROOT, startTestService } from './support/service.ts'
import { signIn } from './support/signed-in.ts'
import { BROWSER_MATRIX } from './support/tools.ts'

const HTML = { headers: { accept: 'text/html' } }

test('public pages use the deployment’s names', async (t) => {
  const service = await startTestService(t, ACME)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  for (const target of [
    '/check',
    `/check?agent=${did}`,
    '/check?agent=svc',
    `/agent/${did}`,
    `/agent/${did}/badge.svg?style=seal`,
    '/agent/nobody',
    '/nowhere',
    '/dashboard',
    '/docs',
    '/docs/api',
  ]) {
    const { text } = await ask(service, target, HTML)
    // What was asked for is said again, as it was asked.
    assertNoDefaultNames(target, text.replaceAll('value="svc"', '').replaceAll('“svc”', ''))
  }
  const { text } = await ask(service, '/', HTML)
  // The one place that says what the service is made of.
  assertNoDefaultNames('/', text.replace('Acme runs on Countersign, which', ''))
  const groups = (await ask(service, '/docs/api')).text.matchAll(/href="(\/docs\/api\/\w+)"/g)
  for (const [, path = ''] of groups) assertNoDefaultNames(path, (await ask(service, path)).text)
})

test('the documentation uses the deployment’s names, except for defaults and the software', async (t) => {
  const service = await startTestService(t, ACME)
  for (const { name, file } of readContents(ROOT).groups.flatMap(({ pages }) => pages)) {
    const written = readFileSync(join(ROOT, file), 'utf8')
    for (const target of [`/docs/${name}`, `/docs/${name}.md`]) {
      const { text } = await ask(service, target)
      assert.doesNotMatch(text, /[\ue000-\uf8ff]/, 'every placeholder is filled in')
      const usual = (of: string) => [...plain(of).matchAll(DEFAULT_NAMES)].length
      const kept = keptIn(written)
        .map(usual)
        .reduce((sum, each) => sum + each, 0)
      if (kept === 0) assertNoDefaultNames(target, plain(text))
      else assert.equal(usual(text), kept, target)
    }
  }
})

/** Without the names of commands, packages and variables, which are the software's own. */
function plain(text: string): string {
  return text.replaceAll(/(?<![A-Za-z])countersign(?![A-Za-z])|COUNTERSIGN(?=_)/g, '')
}

test('marked passages of the documentation are about defaults or the software', () => {
  for (const { file } of readContents(ROOT).groups.flatMap(({ pages }) => pages)) {
    for (const kept of keptIn(readFileSync(join(ROOT, file), 'utf8'))) {
      assert.match(
        kept,
        /default|SHORT_NAME|localhost:8080|Countersign/i,
        `${file}: ${kept.slice(0, 80)}`,
      )
    }
  }
})

test('the dashboard uses the deployment’s names', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t, ACME)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, ownerId)
  const owner = await signIn(service, ownerId)
  const domain = { kind: 'domain', handleOrDomain: 'agents.example.com' }
  const { id } = JSON.parse((await owner.post(`/api/account/agents/${did}/channels`, domain)).text)
  await owner.send('PATCH', `/api/account/agents/${did}`, { description: 'Books trains.' })
  const { page, problems } = await openAsOwner(await openBrowser(t), service, ownerId)
  for (const place of [
    '/agents',
    `/agents/${did}`,
    `/agents/${did}/channels/new`,
    `/agents/${did}/channels/${id}`,
    '/claim',
    '/identity',
    '/account',
    '/account/security',
    '/account/developers',
  ]) {
    await page.goto(`${service.url}/dashboard${place}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page
      .getByText(/^Loading .* …$/)
      .first()
      .waitFor({ state: 'detached' })
    if (place === '/claim') await page.getByRole('button', { name: /token/i }).first().click()
    if (place === '/claim')
      await page
        .getByText(/acme-verify-[0-9a-f]{32}/)
        .first()
        .waitFor()
    assertNoDefaultNames(place, `${await page.title()}\n${await page.locator('body').innerText()}`)
  }
  assert.deepEqual(problems, [])
})
