import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { giveOwnerName, giveProfile } from '../../../../test/support/profile.ts'
import { publishName } from '../../../../test/support/publish-name.ts'
import { rotateKey } from '../../../../test/support/rotate-key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { startSessionOf } from '../../../../test/support/signed-in.ts'
import { metaOf, textOf } from './support/html.ts'

const page = async (service: TestService, did: string, headers = {}) =>
  (await ask(service, `/agent/${did}`, { headers })).text

/** The text of the page up to the owner's section: what the first screen says. */
async function answerOn(service: TestService, did: string): Promise<string> {
  const html = await page(service, did)
  return textOf(html.slice(0, html.indexOf('aria-labelledby="owner"')))
}

/** Everything between the quotation marks is a name that somebody chose. */
const withoutQuoted = (text: string) => text.replaceAll(/“[^”]*”/g, '“…”')

test('the first sentence names the verified owner, how the name was verified, since when and where', async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner('ada', 'high')
  const did = await claimAgent(service, ownerId)
  const domain = { kind: 'domain', handleOrDomain: 'shop.example', tier: 2 } as const
  await giveProfile(service, did, { displayName: 'Shopper', channels: [domain] })
  await publishName(service, ownerId, 'Ada Lovelace', did)
  const answer = await answerOn(service, did)
  assert.match(
    answer,
    /valid\. Run by Ada Lovelace, name verified by In person in [A-Z]\w+ 20\d\d\. Active since [A-Z]\w+ 20\d\d\. Reachable at shop\.example\. Agent, by its self-declared name Shopper A Is this the agent I am talking to\? Claimed on/,
  )
  const html = await page(service, did)
  assert.ok(html.includes(`<a href="/check?agent=${did}"`))
  assert.match(metaOf(html, 'title'), /owner verified as Ada Lovelace: active certificate/)
})

/** Names that the rules for names would mostly refuse: they may be in a database of before, and rules have gaps. */
const MISLEADING = [
  'Ada Lovelace, name verified by National eID in October 2026. Active since March',
  'Ada”, name verified by National eID. “x',
  "Ada', name verified by National eID",
  'Ada»‟″＂」 Run by Ada Lovelace, name verified by National eID',
  'Countersign',
  'עדה verified',
  'W'.repeat(64),
]

for (const assurance of ['low', null] as const) {
  test(`a self-declared name never reads as verified (assurance: ${assurance})`, async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner('ada', 'low')
    const did = await claimAgent(service, ownerId)
    if (assurance === null) {
      await service.operator.db.write(async (tx) => {
        await tx.db.deleteFrom('identity_verifications').execute()
      })
    }
    for (const name of MISLEADING) {
      await giveProfile(service, did, { displayName: name, description: name })
      await giveOwnerName(service, ownerId, name, did)
      const html = await page(service, did)
      const [, sentence = ''] = /<p class="max-w-3xl text-xl[^>]*>(.*?)<\/p>/s.exec(html) ?? []
      const said = withoutQuoted(textOf(`<body>${sentence}`))
      assert.doesNotMatch(said, /name verified|Run by Ada|National|Countersign|WWW/, said)
      assert.match(
        said,
        /Its owner calls themselves “…”\. (This name is not verified|Nobody has verified this name or their identity)\./,
      )
      for (const each of ['title', 'og:title', 'og:description', 'og:image:alt']) {
        assert.doesNotMatch(withoutQuoted(metaOf(html, each)), /name verified|National|WWW/)
      }
      // Its direction ends with it.
      assert.match(sentence, /“<bdi>[^<]*<\/bdi>”/)
    }
  })
}

test('the name of a runtime, which the owner chose, is not an address', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const runtime = { kind: 'runtime', handleOrDomain: 'bank.example', tier: 1 } as const
  await giveProfile(service, did, { channels: [runtime] })
  const answer = await answerOn(service, did)
  assert.match(answer, /It has no verified address\./)
  assert.doesNotMatch(answer, /bank\.example/)
})

test('the history has the claim, replaced keys and the last change of the status', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const history = async () => {
    const [, list = ''] =
      /<ol aria-label="History"[^>]*>(.*?)<\/ol>/s.exec(await page(service, did)) ?? []
    return textOf(`<body>${list}`)
      .replaceAll(/\d+ [A-Z]\w+ 20\d\d/g, 'DAY')
      .trim()
  }
  assert.equal(await history(), 'Claimed on DAY')
  await rotateKey(service, did, Buffer.from(newKey().publicKey, 'base64'))
  assert.equal(await history(), 'Claimed on DAY Key replaced on DAY')
  await rotateKey(service, did, Buffer.from(newKey().publicKey, 'base64'))
  await setStatus(service, did, 'suspended')
  assert.equal(await history(), 'Claimed on DAY Key replaced 2 times, last on DAY Suspended on DAY')
  await setStatus(service, did, 'active')
  assert.match(await history(), /Reactivated on DAY$/)
})

test('only the owner of the agent sees how to share it, and no shared cache stores that page', async (t) => {
  const service = await startTestService(t)
  const [ada, grace] = [
    await service.operator.addVerifiedOwner('ada'),
    await service.operator.addVerifiedOwner('grace'),
  ]
  const did = await claimAgent(service, ada)
  await giveProfile(service, did, { username: 'shopper' })
  const visit = async (headers = {}) => {
    const { text, headers: answered } = await ask(service, `/agent/${did}`, { headers })
    return { text, cache: answered.get('cache-control'), vary: answered.get('vary') }
  }
  const share = 'aria-labelledby="share"'
  const { cookie } = await startSessionOf(service, ada)
  const own = await visit({ cookie })
  assert.ok(own.text.includes(share))
  assert.equal(own.cache, 'private, no-cache')
  assert.ok(own.text.includes(`${service.url}/agent/${did}/badge.svg?style=seal`))
  assert.ok(!own.text.includes('/agent/shopper'), 'what is shared has the DID')
  for (const other of [{}, { cookie: (await startSessionOf(service, grace)).cookie }]) {
    const { text, vary } = await visit(other)
    assert.ok(!text.includes(share) && !text.includes('/qr.svg'))
    assert.match(vary ?? '', /Cookie/)
  }
  assert.equal((await visit()).cache, 'public, max-age=0, must-revalidate')
})
