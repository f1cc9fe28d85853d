import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AgentObject, Card } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import {
  assertAccessible,
  assertNoSidewaysScroll,
  newPage,
  openBrowser,
} from '../../../../test/support/browser.ts'
import { createOrganisation } from '../../../../test/support/organisations.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'
import { verifyOwner } from '../../src/accounts/identity/record-verification.ts'

/** An organisation that has proven a domain, with an agent. @returns the agent's DID */
async function organisationAgent(service: TestService): Promise<string> {
  const acme = await createOrganisation(service)
  const at = Date.now()
  await verifyOwner({ ...service.operator, now: Date.now }, acme.id, {
    provider: 'organisation-domain',
    issuer: 'dns',
    subject: 'example.com',
    assurance: 'low',
    expiresAt: at + 14 * 86_400_000,
    publishedName: 'example.com',
  })
  return claimAgent(service, acme.id)
}

async function scene(t: TestContext) {
  const service = await startTestService(t)
  const did = await organisationAgent(service)
  return { service, did, url: `${service.url}/agent/${did}` }
}

test(
  'the certificate shows the verified domain, then the self-declared name, in both themes, wide and narrow',
  BROWSER_MATRIX,
  async (t) => {
    const { url } = await scene(t)
    const browser = await openBrowser(t)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [360, 1280]) {
        const { page, problems } = await newPage(browser, { colorScheme, width })
        await page.goto(url)
        await page.getByText('Run by the organisation example.com, verified by Domain in').waitFor()
        const owner = (await page.locator('section[aria-labelledby=owner]').innerText()).replaceAll(
          /\s+/g,
          ' ',
        )
        assert.match(
          owner,
          /Organisation example\.com Verified by Domain on .*Self-declared name .*Acme/,
        )
        await assertAccessible(page)
        await assertNoSidewaysScroll(page)
        assert.deepEqual(problems, [])
      }
    }
  },
)

test('cards, objects and structured data say that the owner is an organisation, and name no member', async (t) => {
  const { service, did, url } = await scene(t)
  const text = async (target: string, accept: string) =>
    (await ask(service, target, { headers: { accept } })).text
  const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
  const object = jsonOf<AgentObject>(await ask(service, `/api/agents/${did}`))
  assert.deepEqual([card.ownerKind, object.ownerKind], ['organisation', 'organisation'])
  const page = await text(new URL(url).pathname, 'text/html')
  const jsonLd = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(page)?.[1] ?? ''
  assert.deepEqual(JSON.parse(jsonLd).about.maintainer, {
    '@type': 'Organization',
    name: 'Acme',
    identifier: 'acme',
  })
  for (const shown of [page, JSON.stringify(object), JSON.stringify(card)]) {
    assert.doesNotMatch(shown, /acme-admin|mb_[1-9A-Za-z]{12}|org_[1-9A-Za-z]{12}/)
  }
})

test('a service that starts again has the kind of owner from the database', async (t) => {
  const { service, did } = await scene(t)
  await service.stop()
  const again = await startTestService(t, service.env)
  const card = jsonOf<Card>(await ask(again, `/api/agents/${did}/card`))
  assert.equal(card.ownerKind, 'organisation')
})

test('the members of a person’s agent are those of before, in the same order', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada'))
  const card = await ask(service, `/api/agents/${did}/card`)
  assert.equal(
    Object.keys(jsonOf(card)).join(' '),
    'svcDid displayName username description avatarUrl status claimedAt owner verification channels grade tier gradeIsFallback certificateUrl ownerName',
  )
  const object = await ask(service, `/api/agents/${did}`)
  assert.equal(
    Object.keys(jsonOf(object)).join(' '),
    'svcDid displayName username description avatarUrl status claimedAt owner verification channels grade tier gradeIsFallback certificateUrl publicKey keyThumbprint keySequence keyChangedAt didWeb identityLevel statusChangedAt statusReason updatedAt maxDelegationDepth links ownerName',
  )
})
