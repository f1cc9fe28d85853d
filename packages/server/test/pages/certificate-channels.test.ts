import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { CHANNEL_KINDS } from '../../src/channels/kinds/kinds.ts'
import { textOf } from './support/html.ts'

const DAY_MS = 86_400_000

const FIVE = [
  { kind: 'github', handleOrDomain: 'shopper', tier: 1 },
  { kind: 'runtime', handleOrDomain: 'home-server', tier: 1 },
  { kind: 'domain', handleOrDomain: 'shopper.example', tier: 2 },
  { kind: 'bluesky', handleOrDomain: 'shopper.bsky.social', tier: 1 },
  { kind: 'a2a', handleOrDomain: 'api.shopper.example', tier: 2 },
] as const

/** The channels section of the page. */
function channelsOn(html: string): string {
  const [, section] = /<section aria-labelledby="channels"(.*?)<\/section>/s.exec(html) ?? []
  assert.ok(section !== undefined)
  return section
}

test('the certificate page lists fresh channels with kind, proof, tier and last check, the strongest first', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  await giveProfile(service, did, { channels: FIVE })
  await service.operator.db.write((tx) =>
    tx.db
      .updateTable('channels')
      .set({ checked_at: Date.UTC(2031, 1, 3) })
      .execute(),
  )
  const { text: html } = await ask(service, `/agent/${did}`)
  const section = channelsOn(html)
  const items = section.split('<li').slice(1)
  const inOrder = [...FIVE].sort((a, b) => b.tier - a.tier)
  assert.equal(items.length, 5)
  for (const [i, { kind, handleOrDomain, tier }] of inOrder.entries()) {
    const known = CHANNEL_KINDS.find(({ id }) => id === kind)
    assert.ok(known !== undefined, `${kind} is a kind`)
    const item = items[i] as string
    const text = textOf(`<body>${item.replace(/^[^>]*>/, '')}`)
    assert.ok(text.includes(`${known.label}: ${handleOrDomain}`), text)
    assert.ok(text.includes(known.proves), text)
    assert.ok(text.includes(`Tier ${tier} of 2`), text)
    assert.match(item, /Last checked on <time dateTime="2031-02-03T00:00:00.000Z">3 February 2031</)
    const link = known.link(handleOrDomain)
    const anchor = /<a href="([^"]*)" rel="([^"]*)"/.exec(item)
    assert.deepEqual(anchor?.slice(1) ?? null, link === null ? null : [link, 'nofollow noopener'])
  }
  assert.match(textOf(html), /Reachability 2 of 2 Domain: shopper\.example, last checked on/)
})

test('a channel links to an https address or not at all, whatever its handle contains', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const channels = [
    { kind: 'domain', handleOrDomain: '"><script>x</script>', tier: 2 },
    { kind: 'gone', handleOrDomain: 'javascript:alert(1)', tier: 1 },
  ] as const
  await giveProfile(service, did, { channels })
  const section = channelsOn((await ask(service, `/agent/${did}`)).text)
  for (const [, href = ''] of section.matchAll(/href="([^"]*)"/g)) assert.match(href, /^https:/)
  assert.doesNotMatch(section, /<script|href="javascript/)
  const text = textOf(`<body>${section}`)
  assert.match(text, /gone: javascript:alert\(1\) Tier 1 of 2/, 'a kind that nobody knows any more')
})

test('a lost channel disappears from the page and the grade, which shows what remains and the next step', async (t) => {
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => Date.now() + clock.ahead)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada', 'high'))
  const domain = { kind: 'domain', handleOrDomain: 'shopper.example', tier: 2 } as const
  const chat = { kind: 'github', handleOrDomain: 'shopper', tier: 1 } as const
  const until = (days: number) => ({ freshUntil: Date.now() + days * DAY_MS })
  await giveProfile(service, did, {
    channels: [
      { ...domain, ...until(30) },
      { ...chat, ...until(60) },
    ],
  })
  const page = async () => {
    const { text: html } = await ask(service, `/agent/${did}`)
    return { section: channelsOn(html), text: textOf(html) }
  }
  assert.match((await page()).text, /Why the grade is A/)

  clock.ahead = 30 * DAY_MS
  const second = await page()
  assert.match(second.text, /Why the grade is B .* 1 of 2 GitHub: shopper, last checked on/)
  assert.match(second.text, /To raise the grade: Verify a domain or an agent-to-agent endpoint/)
  assert.doesNotMatch(second.text, /shopper\.example/)
  assert.equal(second.section.split('<li').length, 2)

  clock.ahead = 60 * DAY_MS
  const third = await page()
  assert.match(third.text, /Why the grade is C .* 0 of 2 No verified channel\./)
  assert.match(third.text, /This agent has no verified channel/)
  assert.doesNotMatch(third.text, /GitHub/)
})
